#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/merge.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// An all-reduce over nominal links, whose time is a line in the size of its message.
struct NominalAllReduce {
  std::string_view name;  ///< "rings within nodes and across them (3.13)"
  LinearCost cost;
};

/// What the rule of a cluster offers for ranks ≥ 2; never empty but for nccl, whose cost model has
/// no such lines. Over N nodes of g ranks, with α_i and β_i of the link within a node
/// (link_within()) and α_e and β_e of that between nodes (link_between_nodes()) for one message
/// that has it alone, γ 0:
///   ring          2 (p - 1) (α + m/p β), each the larger of the two                (1.14)
///   hierarchical  2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/N β_e)            (3.13)
///   trees         2 (g - 1) α_i + 2 ⌈lg N⌉ α_e + 2 m max(β_i, β_e)                 (3.5)
/// Trees are chains within nodes and a double binary tree of these, down which pieces follow one
/// another. quickest offers all that may be the quickest for some message: on one node the ring
/// alone. [That trees and two levels are what libraries take instead of one ring: NCCL 2.30
/// src/graph/tuning.cc at 5067397, whose latency and bandwidth of trees these are; Horovod
/// horovod/common/ops/nccl_operations.cc at 0246ec05. That of closed libraries, MVAPICH2-GDR, the
/// quickest closed form stands for what they choose is a judgement.]
/// Wrong of quickest where a library takes another algorithm than the quickest, as NCCL before 2.4,
/// which has rings alone; of trees where start-ups of pieces and what fills the tree count.
/// Throws ConfigError where the cluster gives a link no bandwidth.
std::vector<NominalAllReduce> nominal_all_reduces(const Cluster& cluster,
                                                  const Placement& placement);

/// The one that takes least for m bytes, the first of several. Requires one.
const NominalAllReduce& quickest(std::span<const NominalAllReduce> offered, Bytes m);

}  // namespace dlscale::model
