#pragma once
#include <string_view>

#include "core/base/units.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/curves/curve_time.hpp"
#include "model/published/curves/known_curves.hpp"

namespace dlscale::model {

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
