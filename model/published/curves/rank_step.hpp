#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "model/published/curves/curve_time.hpp"
#include "model/published/curves/known_curves.hpp"
#include "model/published/curves/link_rings.hpp"

namespace dlscale::model {

/// A collective and the number of ranks to predict for.
struct AskedRanks {
  std::string_view collective;
  int ranks = 2;
};

/// Additional noise of a time derived from other numbers of ranks, in ln T.
inline constexpr double rank_noise = 0.03;
/// Error of the law of ranks, in ln T, if no second number of ranks tests it.
inline constexpr double untold_growth = 0.1;

/// The curve itself, for the ranks that were measured.
CurveTime same_ranks(const SizeCurve& given, Bytes m);

/// From one number of ranks q ≥ 2: latency grows as that of a tree, the rest as the load of a link
/// of a ring. The interval spans no growth and the latency of a ring.
CurveTime one_step(const RankCurve& given, const AskedRanks& asked, Bytes m);

/// From two or more numbers of ranks, beyond the largest: logarithmic(). The interval spans no
/// growth, linear() and power(). It is widened by the error of the law at the largest, if fitted to
/// the others (rank_doubt()).
CurveTime more_ranks(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m);

/// Interpolation between two numbers of ranks, linear in lg p.
CurveTime between_ranks(const RankCurve& below, const RankCurve& above, int ranks, Bytes m);

/// Within a node whose GPUs are joined by rings of links. Each link carries
///   u = c(p) m / R(p),   c(n) = 2 (n−1) / n of an all-reduce, R(n) rings              (3.3)
/// so that the time is that of the size with the same u on the largest number given. The interval
/// reaches up to latency that grows with lg p. Requires a collective with a known c.
CurveTime ringed(std::span<const RankCurve> given, const cases::CurveCluster& cluster,
                 const LinkRings& rings, const AskedRanks& asked, Bytes m);

/// The error |ln(T / law)| of the law at the largest number of ranks, if fitted without it.
/// Requires two numbers of ranks.
double rank_doubt(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m);

}  // namespace dlscale::model
