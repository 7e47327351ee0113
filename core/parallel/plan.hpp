#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/schedule/schedule.hpp"
#include "core/run/compute_traits.hpp"

namespace dlscale::parallel {

/// Ways to spread a training over ranks, of which each has its number of ranks.
enum class Axis {
  tensor,    ///< layers cut by attention heads and features
  context,   ///< sequences cut by tokens
  branches,  ///< sub-graphs side by side
  data,      ///< copies with other samples
  stages,    ///< consecutive layers
};
inline constexpr std::array all_axes{Axis::tensor, Axis::context, Axis::branches, Axis::data,
                                     Axis::stages};
std::string_view axis_name(Axis axis);
Axis parse_axis(std::string_view name);  ///< throws ConfigError
/// Axes, the one whose neighbours have neighbouring rank numbers first.
using AxisOrder = std::array<Axis, all_axes.size()>;

/// Activations that are computed again for backward instead of kept.
enum class Recompute {
  none,
  selective,  ///< those of attention scores
  full,       ///< all but the input of each layer
  block,      ///< all but the inputs of the first layers of a rank, in full
};
inline constexpr std::array all_recomputes{Recompute::none, Recompute::selective, Recompute::full,
                                           Recompute::block};
std::string_view recompute_name(Recompute recompute);
Recompute parse_recompute(std::string_view name);  ///< throws ConfigError

/// Bytes of each parameter by what is kept of it, 0 … 16. Absent: as the framework has it, and
/// kept_bytes() where none is known.
struct StateBytes {
  std::optional<double> weights = {};
  std::optional<double> gradients = {};
  std::optional<double> main_gradients = {};  ///< sums of gradients in a wider type
  std::optional<double> master = {};   ///< weights that the optimiser updates, if these are others
  std::optional<double> moments = {};  ///< the optimiser's numbers together
  bool operator==(const StateBytes&) const = default;
};

/// The same without the optimiser's numbers, at first those of f32 training without copies.
struct KeptBytes {
  double weights = 4;
  double gradients = 4;
  double main_gradients = 0;
  double master = 0;
  [[nodiscard]] double total() const { return weights + gradients + main_gradients + master; }
};
/// Absent bytes are those of f32 training.
KeptBytes kept_bytes(const StateBytes& bytes);

/// How a training is spread over devices, cut into micro-batches, and what it keeps. The values
/// here are those of a data-parallel run on one rank.
struct ParallelPlan {
  int data = 1;
  int tensor = 1;
  /// The layers that tensor parallelism leaves whole are cut by tokens among its ranks.
  bool sequence_parallel = false;
  /// Messages of tensor parallelism run under products, which needs sequence_parallel; absent: as
  /// the framework has it by default.
  std::optional<bool> tensor_overlap = {};
  int context = 1;
  int experts = 1;  ///< groups of experts; they lie within data × context, so add no ranks
  int branches = 1;
  int stages = 1;
  int chunks = 1;  ///< of each stage
  /// Layers of each part (stages × chunks, in forward order); empty: all have the same.
  std::vector<int> stage_layers = {};
  std::string schedule = "1f1b";          ///< a name of core/parallel/schedule/family.hpp
  std::optional<int> micro_batch = {};    ///< samples of a rank at a time; absent: batches_of()
  std::optional<int> micro_batches = {};  ///< of a pipeline in an iteration; absent: batches_of()
  /// Sharded over data × context: 0 nothing, 1 optimiser states, 2 and gradients, 3 and weights.
  int zero = 0;
  std::optional<int> zero_group = {};  ///< ranks that share one copy; absent: all of data × context
  Recompute recompute = Recompute::none;
  int recompute_layers = 0;  ///< with block: layers of each part
  /// Steps are compiled (torch.compile, XLA); absent: as the framework is published.
  std::optional<bool> compile = {};
  Optimizer optimizer = Optimizer::momentum;
  StateBytes bytes = {};
  AxisOrder order = all_axes;
  bool operator==(const ParallelPlan&) const = default;
};

/// The largest of any number in a plan: ranks along an axis, chunks, micro-batches.
inline constexpr int most_in_plan = 1'000'000;

/// The number of an axis's ranks.
int ranks_along(Axis axis, const ParallelPlan& plan);

/// Bytes of the optimiser's numbers of each parameter: 4 for each number unless stated.
double moment_bytes(const ParallelPlan& plan);

/// Properties of a network and its batch that plans depend on. An absent one is not known, and
/// nothing that depends on it is checked; 0 where the network has none.
struct NetworkFacts {
  std::optional<int> layers = {};
  std::optional<int> heads = {};                  ///< of attention, in each layer
  std::optional<int> kv_heads = {};               ///< those with keys and values of their own
  std::optional<int> experts = {};                ///< in each layer that has some
  std::optional<int> hidden = {};                 ///< features of a token between layers
  std::optional<int> ffn = {};                    ///< features within a feed-forward block
  std::optional<int> sequence = {};               ///< tokens of a sample
  std::optional<int> branches = {};               ///< side by side where the network branches
  std::optional<std::int64_t> global_batch = {};  ///< samples of an iteration
};

/// Sizes of batches; absent where neither the plan nor the batch says it.
struct PlanBatches {
  std::optional<std::int64_t> micro_batch;
  std::int64_t micro_batches = 1;
};
/// Completes what a plan states by the global batch, which data × branches ranks share: the number
/// of micro-batches from their size, or the size from the number. Without either, the whole share
/// is one. Requires a plan that fits the batch (faults()).
PlanBatches batches_of(const ParallelPlan& plan, const NetworkFacts& facts);

/// The pipeline of each copy of the network. Requires at most 10^6 micro-batches (faults()).
PipelineShape pipeline_of(const ParallelPlan& plan, const NetworkFacts& facts);

/// Why the plan cannot train the network on so many devices, a sentence a fault with what to do;
/// empty if it can. Memory is not considered.
std::vector<std::string> faults(const ParallelPlan& plan, std::int64_t devices,
                                const NetworkFacts& facts);

/// Whether messages to experts can run under other micro-batches: layers are not computed again,
/// and the plan has one stage, or chunks. [Megatron-LM, --overlap-moe-expert-parallel-comm in
/// megatron/training/arguments.py]
bool may_hide_expert_messages(Recompute recompute, double stages, double chunks);

/// Throws ConfigError with the first of faults().
void check(const ParallelPlan& plan, std::int64_t devices, const NetworkFacts& facts);

}  // namespace dlscale::parallel
