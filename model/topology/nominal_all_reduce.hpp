#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/merge.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// An all-reduce over nominal links, with a time linear in the size of its message.
struct NominalAllReduce {
  std::string_view name;  ///< "rings within nodes and across them (3.13)"
  LinearCost cost;
};

/// The all-reduces that the rule of a cluster offers for ranks ≥ 2; empty only for nccl, whose cost
/// model is not linear. Over N nodes of g ranks, with α_i and β_i of the link within a node
/// (link_within()) and α_e and β_e between nodes (link_between_nodes()) for a single message on it,
/// γ 0:
///   ring          2 (p - 1) (α + m/p β), each the larger of the two                (1.14)
///   hierarchical  2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/N β_e)            (3.13)
///   trees         2 (g - 1) α_i + 2 ⌈lg N⌉ α_e + 2 m max(β_i, β_e)                 (3.5)
/// Trees are chains within nodes and a double binary tree of these, with pipelined pieces. quickest
/// offers every candidate that may be the fastest for some message: on one node the ring alone.
/// [Libraries use trees and two levels instead of one ring: NCCL 2.30 src/graph/tuning.cc at
/// 5067397, also the source of the trees' latency and bandwidth; Horovod
/// horovod/common/ops/nccl_operations.cc at 0246ec05. The fastest closed form stands for closed
/// libraries such as MVAPICH2-GDR: a judgement.]
/// quickest is wrong where a library takes a slower algorithm, as NCCL before 2.4, which has only
/// rings. trees is wrong where start-ups of pieces and the filling of the tree matter.
/// Throws ConfigError where the cluster gives a link no bandwidth.
std::vector<NominalAllReduce> nominal_all_reduces(const Cluster& cluster,
                                                  const Placement& placement);

/// The fastest for m bytes, the first of several. Requires at least one.
const NominalAllReduce& quickest(std::span<const NominalAllReduce> offered, Bytes m);

}  // namespace dlscale::model
