#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/curves/size_curve.hpp"

namespace dlscale::model {

/// The time of one size on a number of ranks.
struct RankTime {
  double ranks = 1;  ///< ≥ 1
  Seconds time;      ///< > 0
};

/// T(p) = a + s lg p with s ≥ 0, by least squares of relative errors. Each number of ranks weighs
/// half as much as the next larger one. It is the latency of trees and of recursive doubling and
/// the contention of large messages as the ranks double. Requires two or more times of ascending
/// ranks.
Seconds logarithmic(std::span<const RankTime> given, double ranks);

/// T(p) = a + s p through the last two, s ≥ 0: the latency of a ring (3.3). Same requirement.
Seconds linear(std::span<const RankTime> given, double ranks);

/// T(p) = a p^s through the first and the last, s ≥ 0. Same requirement.
Seconds power(std::span<const RankTime> given, double ranks);

/// The geometric mean of logarithmic() and power(). Published curves lie between the two: the first
/// alone is 9 % too low in the mean, the second 5 % too high. Same requirement.
Seconds between_laws(std::span<const RankTime> given, double ranks);

/// Growth of a time from `from` ≥ 2 to `to` ≥ 2 ranks. The share w = `latency` grows by g =
/// `latency_growth`, and the rest as the load of a link of a ring:
///   w g + (1 − w) c(p) / c(q),   c(n) = 2 (n−1) / n of an all-reduce             (3.3)
/// For collectives whose c is not known the rest does not grow.
struct RankStep {
  std::string_view collective;
  int from = 2;
  int to = 2;
};
double split_growth(const RankStep& step, double latency, double latency_growth);

/// lg p / lg q: growth of the latency of trees.
double tree_growth(const RankStep& step);
/// (p − 1) / (q − 1): growth of the latency of rings.
double ring_growth(const RankStep& step);

/// Rings that run in parallel among the GPUs of one node.
struct LinkRings {
  int count = 0;       ///< ≥ 1
  bool direct = true;  ///< each step uses a link; otherwise steps pass through other GPUs
};

/// The number of rings of NVLinks among the first `gpus` GPUs of a hybrid cube mesh of eight P100
/// (nvlink1) or V100 (nvlink2), by nvlink_rings() of core. If no ring exists, as among five, steps
/// pass through other GPUs. The number is then an upper bound: the links of the GPU with the
/// fewest. Empty for other nodes, where all GPUs reach each other alike, and for 1 GPU or more than
/// 8.
std::optional<LinkRings> link_rings(const cases::CurveCluster& cluster, int gpus);

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

/// From two or more numbers of ranks, beyond the largest: between_laws(). The interval spans both
/// of its laws, no growth and linear(). It is widened by the error of the law at the largest, if
/// fitted to the others (rank_doubt()).
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

/// A collective over several nodes for which only the time of one node is known.
struct NodeStep {
  std::string_view collective;  ///< a collective with a known bus_factor()
  int ranks = 2;                ///< ≥ nodes
  int nodes = 2;                ///< ≥ 2
  cases::CaseLink link = {};    ///< between nodes, with its nominal bandwidth
};

/// The two levels of a hierarchical collective one after the other, the upper one by data sheet:
///   T = T_node(m) + s α + c(N) m / B                                                 (3.13)
/// N is the number of nodes and B the nominal bandwidth of a node. c(N) is 2 (N−1) / N for
/// all-reduce and (N−1) / N for all-gather and reduce-scatter. For all-to-all it is the latter
/// times the ranks of a node, and 1 for others. The number of steps s is the geometric mean of the
/// 2 lg N of a tree and the 2 (N−1) of a ring. Collectives with one phase have half of both.
/// start_up() gives α. The interval spans the fewest steps with both levels at once, and the most
/// steps with a flat ring between the nodes. Wrong where levels overlap, or where the link's
/// nominal bandwidth is not reached.
CurveTime over_nodes(const RankCurve& in_node, const NodeStep& step, Bytes m);

/// α of a step between nodes, from published measurements:
///   TCP over Ethernet   186 us  [1], 10 Gb/s Ethernet: geometric mean of 240 and 144 us
///   others               30 us  [1], 56 Gb/s InfiniBand: geometric mean of 28 and 32 us
///   EFA                  60 us  [2]
/// [1] HKBU-HPML/MG-WFBP distributed_optimizer.py@5b8ad54: a of 8 and 16 ranks less a of the 4 of a
/// node, by 2 (N−1) steps.
/// [2] awslabs/awsome-distributed-training nccl-tests/README.md@0edaf15: small messages on 2 nodes
/// of 8 A100, 161 us, less the 44 us that stas00/ml-engineering has for 8 in a node, by 2 steps.
Seconds start_up(std::string_view link_kind);

}  // namespace dlscale::model
