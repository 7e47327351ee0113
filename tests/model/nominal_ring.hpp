#pragma once
#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/message_time.hpp"

namespace dlscale::model {

/// What predictions from data sheets charge for an all-reduce by a ring of nodes with a GPU each,
/// over the links of a data sheet: (1.14), t_c = 2 (p-1) α + 2 (p-1)/p M / B_min. Start-ups of all
/// 2 (p-1) steps are `startup` together.
inline Seconds nominal_ring(int nodes, Bytes message, BytesPerSecond link, Seconds startup = {}) {
  Cluster cluster = load_cluster("k80x16_10gbe");
  cluster.nodes = nodes;
  cluster.devices_per_node = 1;
  cluster.all_reduce = AllReduceRule::ring;
  cluster.inter_node.bandwidth = link;
  cluster.inter_node.latency = nodes > 1 ? startup / (2 * (nodes - 1)) : Seconds();
  Notes notes;
  return MessageTimes(nominal_machine(cluster), {nodes, 1}, Schedule::sequential, notes)
      .time(message)
      .value;
}

}  // namespace dlscale::model
