#pragma once
#include <span>

#include "core/base/units.hpp"

namespace dlscale::model {

/// A predicted time of one size, and its 90 % interval.
struct CurveTime {
  Seconds value;
  Seconds low;
  Seconds high;
  double latency_share = 0;  ///< share of `value` that does not depend on bytes: 0 … 1
};

/// The range of competing laws, widened on both sides:
///   [min_i T_i e^-δ, max_i T_i e^δ]
/// `laws` are further times beside `value`; δ = `spread` ≥ 0.
CurveTime ranged(Seconds value, std::span<const Seconds> laws, double spread, double latency_share);

}  // namespace dlscale::model
