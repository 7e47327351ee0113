#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/parallel/plan.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model::parallel_time {

/// Distances in rank numbers between neighbours of each group.
struct Strides {
  double tensor = 1;
  double context = 1;
  double replicas = 1;  ///< of context and data together
  double stages = 1;
};

/// A plan in the numbers that its time depends on. Nothing of it is allocated, so that a search can
/// fill one for each plan that it visits.
struct PlanSizes {
  double tensor = 1;         ///< t ≥ 1
  double stages = 1;         ///< p ≥ 1
  double data = 1;           ///< ≥ 1
  double context = 1;        ///< c ≥ 1
  double experts = 1;        ///< groups of experts, within data × context
  double micro_batch = 1;    ///< b > 0: samples
  double micro_batches = 1;  ///< m ≥ 1: of an iteration
  double chunks = 1;         ///< v ≥ 1: of a stage
  int zero = 0;              ///< 0 … 3
  double zero_group = 0;     ///< replicas that share one copy of what is sharded; 0: all
  bool sequence_parallel = false;
  TensorOverlap tensor_overlap = TensorOverlap::none;  ///< of messages under products
  bool compiled = false;                               ///< the step is
  bool sharded_weights = false;                        ///< FSDP or ZeRO 3
  /// Sharded weights of a pipeline's stage are gathered once a step, and its gradients are whole
  /// until then (memory::Implementation).
  bool keeps_gathered_stage = false;
  bool hides_gradients = true;   ///< data-parallel messages run under backward
  bool both_directions = false;  ///< a pipeline that is filled from both ends
  bool zero_bubble = false;      ///< backward is cut into data and weights
  parallel::Recompute recompute = parallel::Recompute::none;
  double recompute_share = 1;  ///< 0 … 1: layers that are computed again, with block
  double gradient_bytes = 2;   ///< an element of a gradient in messages
  int copies = 1;  ///< of the network; 2: stage p - 1 - s has the layers of stage s, too (GEMS)
  std::span<const int> stage_layers = {};  ///< one a stage; empty: all alike
  /// Absent: ranks are numbered by tensor, context, data, then stage.
  std::optional<Strides> stated_strides = {};

  /// Ranks with other samples or tokens: data · context.
  [[nodiscard]] double replicas() const { return data * context; }
  /// Replicas that share one copy of what is sharded.
  [[nodiscard]] double sharers() const { return zero_group > 0 ? zero_group : replicas(); }
  /// Whether each layer gathers its weights for each micro-batch, and scatters its gradients.
  [[nodiscard]] bool gathers_layers() const {
    return sharded_weights && replicas() > 1 && (stages == 1 || !keeps_gathered_stage);
  }
  /// Whether a stage stays gathered from one step to the next.
  [[nodiscard]] bool keeps_stage() const {
    return sharded_weights && replicas() > 1 && !gathers_layers();
  }
  [[nodiscard]] double gpus() const { return tensor * stages * data * context; }
  [[nodiscard]] Strides strides() const {
    return stated_strides.value_or(Strides{1, tensor, tensor, tensor * replicas()});
  }
  /// Ranks that share the tokens between tensor-parallel layers.
  [[nodiscard]] double token_ranks() const { return sequence_parallel ? tensor : 1; }
};

/// Widths and counts of a layer on a rank.
struct LayerSizes {
  double tokens = 1;  ///< T = b s / c
  double hidden = 1;
  double query = 1;         ///< of all heads of all ranks: queries, and keys with their copies
  double key = 1;           ///< of keys without copies, and of as many values
  double value = 1;         ///< of all heads: results of attention
  double key_head = 1;      ///< of one head's query
  double gates = 1;         ///< g: 2 where the feed-forward part is gated
  double expert_share = 0;  ///< of layers that have experts
  double inner = 1;         ///< features of the feed-forward part on a rank, a token
};
/// Why the order of a plan is not timed, a sentence with what to do; absent if it is. Context and
/// data lie apart, or experts have axes in another order.
std::optional<std::string> fault_of_order(const parallel::ParallelPlan& plan);

/// The strides of a plan's order; absent where they are those of PlanSizes. Throws ConfigError with
/// fault_of_order().
std::optional<Strides> strides_of(const parallel::ParallelPlan& plan);

/// The share of layers that recompute::block computes again, over all parts; else 1.
double recompute_share_of(const parallel::ParallelPlan& plan, double layers);

LayerSizes layer_sizes(const memory::TransformerShape& shape, const PlanSizes& plan);

}  // namespace dlscale::model::parallel_time
