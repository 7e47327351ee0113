#pragma once
#include <string_view>

#include "core/base/units.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/curves/curve_time.hpp"
#include "model/published/curves/known_curves.hpp"

namespace dlscale::model {

/// A collective over several nodes of which only what one node takes is known.
struct NodeStep {
  std::string_view collective;  ///< one with a known bus_factor()
  int ranks = 2;                ///< ≥ nodes
  int nodes = 2;                ///< ≥ 2
  cases::CaseLink link = {};    ///< between nodes, with its nominal bandwidth
};

/// The two levels of a hierarchical collective one after the other, the upper one by data sheet:
///   T = T_node(m) + s α + c(N) m / B                                                 (3.13)
/// N nodes; B nominal bandwidth of a node; c(N) = 2 (N−1) / N of an all-reduce, (N−1) / N of
/// all-gather and reduce-scatter, as many times the ranks of a node of all-to-all, else 1; s
/// between the 2 lg N steps of a tree and the 2 (N−1) of a ring (half of both where there is one
/// phase): their geometric mean. α: start_up(). The interval spans fewest steps with both levels at
/// once, and most steps with a flat ring between the nodes. Wrong where levels overlap, or the link
/// is not reached.
CurveTime over_nodes(const RankCurve& in_node, const NodeStep& step, Bytes m);

/// α of a step between nodes, from what others published:
///   TCP over Ethernet    186 us  [HKBU-HPML/MG-WFBP distributed_optimizer.py@5b8ad54: a of 8 and
///   16 others                30 us   ranks less a of the 4 of a node, by 2 (N−1) steps; 10 Gb/s
///   Ethernet
///                                 240 and 144 us, 56 Gb/s InfiniBand 28 and 32 us: geometric
///                                 means]
///   EFA                   60 us  [awslabs/awsome-distributed-training
///   nccl-tests/README.md@0edaf15:
///                                 small messages on 2 nodes of 8 A100, 161 us, less the 44 us that
///                                 stas00/ml-engineering has of 8 in a node, by 2 steps]
Seconds start_up(std::string_view link_kind);

}  // namespace dlscale::model
