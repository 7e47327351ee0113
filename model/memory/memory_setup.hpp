#pragma once
#include <string>
#include <vector>

namespace dlscale::model::memory {

/// Bytes of a parameter in each state, before any sharding.
struct StateBytes {
  double weights = 2;         ///< that kernels read
  double gradients = 2;       ///< as backward makes them
  double main_gradients = 0;  ///< accumulated apart, as a rule in f32; 0: none
  double main_weights = 4;    ///< the optimiser's own copy; 0: none
  double moments = 8;         ///< of the optimiser: 8 for Adam in f32, 4 for momentum, 0 for SGD
  [[nodiscard]] double all_gradients() const { return gradients + main_gradients; }
  [[nodiscard]] double optimiser() const { return main_weights + moments; }
};

/// The activations that are computed anew in backward, not kept.
enum class Recompute {
  none,
  selective,  ///< scores of attention and what is made from them [arXiv:2205.05198, section 5]
  operators,  ///< all but every second product and the result of attention [torchtitan]
  full,       ///< all but each layer's input
  block,      ///< all but the input of the first recompute_layers layers of each chunk
};

/// How a training is spread and what it keeps, as far as the memory of a rank depends on it.
struct MemorySetup {
  int data = 1;                           ///< ≥ 1: replicas
  int tensor = 1;                         ///< ≥ 1: ranks that share each product
  bool sequence_parallel = false;         ///< those ranks share the tokens between products, too
  int context = 1;                        ///< ≥ 1: ranks that share a sequence
  int experts = 1;                        ///< ≥ 1: ranks that share the experts of a layer
  int stages = 1;                         ///< ≥ 1: of the pipeline
  int chunks = 1;                         ///< ≥ 1: parts of the network on each stage
  std::string schedule = "1f1b";          ///< as core/parallel/schedule names it
  std::vector<double> stage_layers = {};  ///< layers of each stage; empty: equally many
  int zero = 0;                           ///< 0 … 3: stage of ZeRO, over data · context ranks
  double micro_batch = 1;                 ///< > 0: samples
  int micro_batches = 1;                  ///< ≥ 1: of a replica and step
  /// Ranks that share one copy of sharded states; 0: all of data · context.
  int zero_group = 0;
  Recompute recompute = Recompute::none;
  int recompute_layers = 0;  ///< ≥ 0: with block
  double element = 2;        ///< bytes of an activation: 2 or 4
  /// Bytes of an element that products within layers read in 8 or 4 bits; 0: they read others.
  double operand = 0;
  double operand_weights = 0;   ///< bytes of such copies that are kept of each weight in layers
  double offloaded = 0;         ///< 0 … 1: part of kept activations that is in the host's memory
  bool fused_attention = true;  ///< scores stay out of memory [arXiv:2205.14135]
  bool dropout = false;         ///< masks of dropout are kept
  double imbalance = 1;         ///< ≥ 1: rows of the busiest rank of experts over their mean
  StateBytes bytes = {};

  /// Ranks that ZeRO shards over.
  [[nodiscard]] double shards() const {
    return zero_group > 0 ? zero_group : static_cast<double>(data) * context;
  }
  /// Kinds of groups with more than one rank: 0 … 4.
  [[nodiscard]] int axes() const {
    return (data * context > 1 ? 1 : 0) + (tensor > 1 ? 1 : 0) + (stages > 1 ? 1 : 0) +
           (experts > 1 ? 1 : 0);
  }
  /// Ranks that share the tokens between products.
  [[nodiscard]] double token_parts() const { return sequence_parallel ? tensor : 1; }
};

/// Layers on each stage. Throws ConfigError unless setup.stage_layers is empty or has one number
/// for each stage, which together are `layers`.
std::vector<double> layers_of_stages(const MemorySetup& setup, double layers);

/// Layers of micro-batches whose activations stage `stage` holds at once, of `layers` of its own:
///   basic        L
///   gpipe        L m
///   1f1b         L min(m, p - stage)                               [arXiv:2104.04473]
///   zero_bubble  L min(m, p): as the first stage of 1f1b           [arXiv:2401.10241, ZB-H1]
///   interleaved  L/v min(m v, 2 (p - stage - 1) + (v - 1) p + 1)   [Megatron-LM's warm-up]
///   gems_mast, gems_master  L: one micro-batch in flight           [10.1109/SC41405.2020.00049]
/// On one stage each micro-batch is finished before the next. Throws ConfigError for another name.
double live_layers(const MemorySetup& setup, int stage, double layers);

/// Copies of the model's states on each rank: 2 for GEMS, else 1.
double state_copies(const MemorySetup& setup);

}  // namespace dlscale::model::memory
