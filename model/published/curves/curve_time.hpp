#pragma once
#include <span>

#include "core/base/units.hpp"

namespace dlscale::model {

/// A predicted time of one size, and between what it lies with 90 %.
struct CurveTime {
  Seconds value;
  Seconds low;
  Seconds high;
  double latency_share = 0;  ///< of `value`, what no byte takes: 0 … 1
};

/// What laws that compete for the truth span, widened on both sides:
///   [min_i T_i e^-δ, max_i T_i e^δ]
/// `laws` are further times beside `value`; δ = `spread` ≥ 0.
CurveTime ranged(Seconds value, std::span<const Seconds> laws, double spread, double latency_share);

}  // namespace dlscale::model
