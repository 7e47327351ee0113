#pragma once
#include "model/parallel/time/layer.hpp"

namespace dlscale::model::parallel_time {

/// Seconds of an iteration, by its parts.
struct IterationTime {
  LayerTime layer = {};          ///< for one micro-batch
  double embedding = 0;          ///< forward and backward, for one micro-batch
  double head = 0;               ///< the same, with the loss
  double slowest_stage = 0;      ///< for one micro-batch
  double stage_message = 0;      ///< between two stages, one way; 0 without a pipeline
  double stage_messages = 0;     ///< all that keep the slowest stage from computing
  double pipeline = 0;           ///< all micro-batches, with bubbles and messages of stages
  double exposed_gradients = 0;  ///< messages of data parallelism that nothing hides
  double update = 0;
  double total = 0;
  double busiest_layers = 0;  ///< of the stage that has most
};

inline constexpr double embedding_forward = 1.0 / 2;  ///< it reads forward what it writes backward
inline constexpr double head_forward = 1.0 / 3;       ///< one product of three

/// Seconds of the tables of words for one micro-batch, each a sharded_pass(). A tied table is
/// gathered and scattered once.
struct TableTime {
  double embedding = 0;  ///< forward and backward
  double head = 0;       ///< the same, with the loss
};
TableTime table_time(const Setting& setting, const PlanSizes& plan);

/// The time of an iteration of m micro-batches, stages of L_i layers and v chunks:
///   one stage   m (L (F + B) + embedding + head)
///   pipeline    m max T_i + (Σ T_i - max T_i) z / v + 2 (m w + p - 1) x
///               T_i = L_i (F + B) + [first] embedding + [last] head; w = v / 2, or 1/2 for v = 1;
///               z = 1/2 if filled from both ends, 1/3 with zero bubbles, else 1;
///               x = stage_message (1.5 across nodes) + bytes / link
///   update      update_bytes own / shards / M, twice where it is not fused; 12 tensors a layer
///   gradients   all-reduce, or from ZeRO 1 on scatter_time() and a gather; a stage that stays
///               gathered: gathered and scattered once; less what backward hides, and with
///               shard_copies(). ZeRO 2 scatters the gradients of each micro-batch, hidden by its
///               own backward. Experts go to the ranks that hold the same ones (layer_messages.hpp)
///   total       (pipeline + gradients + update)(1 + stragglers log2(nodes))
/// The pipeline's form stands for 1F1B and its kin; simulate() of model/parallel/pipeline times
/// lists of operations. [derived]
IterationTime iteration_time(const Setting& setting, const PlanSizes& plan);

/// The same from layer_time() and table_time() of the plan, which plans have in common that differ
/// in schedule, chunks or the sharding of states other than weights.
IterationTime iteration_time(const Setting& setting, const PlanSizes& plan, const LayerTime& layer,
                             const TableTime& tables);

}  // namespace dlscale::model::parallel_time
