#pragma once
#include "model/memory/state_memory.hpp"
#include "model/parallel/time/collectives.hpp"
#include "model/parallel/time/layer.hpp"
#include "model/parallel/time/plan_sizes.hpp"

namespace dlscale::model::parallel_time {

/// Exposed messages of a layer by the ranks that they run between, in seconds.
struct LayerMessages {
  PassTime tensor = {};
  PassTime context = {};
  PassTime experts = {};
  [[nodiscard]] PassTime total() const { return tensor + context + experts; }
};

/// Exposed messages of a layer, without those computed again. `products`: of linear layers,
/// `device`: with all other computing that messages may hide under. See layer_time().
LayerMessages layer_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                             const PassTime& products, const PassTime& attention,
                             const PassTime& device);

/// Seconds of the tensor-parallel messages around the table of words, and around the head.
double table_message(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes);

/// Ranks that hold the same parameters.
struct WeightGroups {
  Group all;
  Group sharing;  ///< those that share one copy of what is sharded
  Group copies;   ///< those that hold the same shard
};

/// Ranks with the same dense parameters: replicas, and with two copies of the network (GEMS) those
/// of the stage at the other end, too.
WeightGroups dense_groups(const PlanSizes& plan, double node_gpus);

/// Ranks with the same experts: every ep-th one of a stage (memory::ranks_of_expert()). Without
/// expert parallelism they are dense_groups().
WeightGroups expert_groups(const PlanSizes& plan, double node_gpus);

/// Seconds in which a rank gathers weights of 2 bytes over its sharing groups, one message for
/// dense ones and one for experts that other ranks hold.
double gather_time(const Collectives& send, const PlanSizes& plan,
                   const memory::RankParameters& parameters);

/// Seconds in which gradients of `bytes` a parameter are summed and scattered over sharing groups,
/// and shards summed over the copies.
double scatter_time(const Collectives& send, const PlanSizes& plan,
                    const memory::RankParameters& parameters, double bytes);

/// Seconds in which gradients of `bytes` a parameter are summed over all ranks that hold them.
double sum_time(const Collectives& send, const PlanSizes& plan,
                const memory::RankParameters& parameters, double bytes);

/// Parameters of a rank's shard, by the sharing groups.
double shard_parameters(const PlanSizes& plan, const memory::RankParameters& parameters);

}  // namespace dlscale::model::parallel_time
