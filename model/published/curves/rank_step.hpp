#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "model/published/curves/curve_time.hpp"
#include "model/published/curves/known_curves.hpp"
#include "model/published/curves/link_rings.hpp"

namespace dlscale::model {

/// A collective on a number of ranks, of which a time is asked.
struct AskedRanks {
  std::string_view collective;
  int ranks = 2;
};

/// Further noise of a time told from other numbers of ranks, in ln T.
inline constexpr double rank_noise = 0.03;
/// How far the law of ranks may be off, in ln T, where no second number of ranks tells it.
inline constexpr double untold_growth = 0.1;

/// On the ranks that were measured: the curve itself.
CurveTime same_ranks(const SizeCurve& given, Bytes m);

/// From one number of ranks q ≥ 2: latency grows as that of a tree, the rest as what a link of a
/// ring carries. The interval spans no growth and the latency of a ring.
CurveTime one_step(const RankCurve& given, const AskedRanks& asked, Bytes m);

/// From two or more, beyond the largest: logarithmic(). The interval spans no growth, linear() and
/// power(), widened by how far the law, told the others, misses the largest (rank_doubt()).
CurveTime more_ranks(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m);

/// Between two of them: straight in lg p.
CurveTime between_ranks(const RankCurve& below, const RankCurve& above, int ranks, Bytes m);

/// Within a node where GPUs are joined by rings of links: each link carries
///   u = c(p) m / R(p),   c(n) = 2 (n−1) / n of an all-reduce, R(n) rings              (3.3)
/// so that the time is that of the size with the same u on the largest number given. The interval
/// reaches up to latency that grows with lg p. Requires a collective with a known c.
CurveTime ringed(std::span<const RankCurve> given, const cases::CurveCluster& cluster,
                 const LinkRings& rings, const AskedRanks& asked, Bytes m);

/// |ln| by which the law, fitted without the largest number of ranks, misses its time. Requires
/// two.
double rank_doubt(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m);

}  // namespace dlscale::model
