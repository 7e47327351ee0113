#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/parallel/plan.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/parallel/answer/allocator.hpp"
#include "model/parallel/time/device_facts.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/parallel/uncertain/interval.hpp"

namespace dlscale::model::parallel_time {

/// Trainings of one transformer by one framework, which differ in plan.
struct ParallelQuestion {
  memory::TransformerShape shape = {};
  std::int64_t global_batch = 1;  ///< ≥ 1: sequences of an iteration
  Precision precision = Precision::half;
  std::string framework = {};  ///< free text, which names a family; may be empty
};

/// A kind of GPU and its links, by data sheets.
struct ParallelHardware {
  DeviceSheet device = {};
  double memory = 1;  ///< usable_memory() of the device
  Links links = {};   ///< of the GPUs of a job
};

/// The hardware of a cluster for jobs of `gpus` ≥ 1 GPUs. Throws ConfigError for devices without a
/// data sheet, such as processors.
ParallelHardware parallel_hardware(const Cluster& cluster, std::int64_t gpus);

/// The family of a framework, and whether a family names it.
struct NamedFamily {
  const Family* family = nullptr;
  bool is_named = false;
};
/// Requires that `file` outlives the answer.
NamedFamily family_of(const ParallelTimeFile& file, const std::string& framework,
                      const DeviceRates& rates);

/// All that iteration_time() reads beside the plan. Unlike published trainings, whose f32 may take
/// tf32's units, f32 has its own peak here. Throws ConfigError for a precision without peak.
Setting setting_of(const ParallelTimeFile& file, const ParallelQuestion& question,
                   const ParallelHardware& hardware);

/// Facts that a plan is checked by.
parallel::NetworkFacts facts_of(const ParallelQuestion& question);

/// The plan in numbers. Gradients travel as wide as they are summed, and under backward unless the
/// family orders all in one queue. Requires a plan without faults and complete batches. The caller
/// adds `stage_layers` of uneven stages, which it owns, and keeps_gathered_stage of the framework's
/// implementation. Throws ConfigError for orders of ranks that are not timed (strides_of()), for
/// tensor_overlap by a family that has none, and as is_compiled() does.
PlanSizes sizes_of(const ParallelQuestion& question, const Family& family,
                   const parallel::ParallelPlan& plan);

/// Whether the steps of a run are compiled: as it says, else as the family is published. Throws
/// ConfigError for `asked` that the family does not do. `framework` is what its user calls it.
bool is_compiled(const Family& family, std::optional<bool> asked, std::string_view framework);

/// How messages of tensors run under products: as the run says, else as the family has it. They do
/// not without sequence parallelism, nor in families that compile for it, without that.
TensorOverlap overlap_of(const Family& family, std::optional<bool> asked, const PlanSizes& plan);
/// Whether they do in a plan of a user. Requires `compile` that the family does.
bool overlaps_tensor(const Family& family, const parallel::ParallelPlan& plan);

/// Layers of each stage, from those of its parts; empty if they are alike.
std::vector<int> stage_layers_of(const parallel::ParallelPlan& plan);

/// Bytes of states, none absent: those that the plan states, else those of the family. In formats
/// of 32 bits, weights and gradients take 4 each and have no copies. An optimiser other than the
/// default keeps its own numbers.
parallel::StateBytes state_bytes_of(const Family& family, const parallel::ParallelPlan& plan,
                                    Precision precision = Precision::half);

/// Inputs of the memory of the plan. Selective recomputation with sharded weights is by
/// operator, as in times. Requires a plan without faults.
memory::MemorySetup memory_setup_of(const ParallelQuestion& question, const Setting& setting,
                                    const parallel::ParallelPlan& plan);

/// A training in the numbers of its plan, in which published trainings are given, too.
struct NumberedPlan {
  PlanSizes sizes = {};              ///< with the layers of stages where these differ
  parallel::ParallelPlan plan = {};  ///< schedule, and what memory depends on beside sizes
  std::string framework = {};        ///< free text
  bool is_family_named = true;       ///< a family names the framework
  double offloaded = 0;              ///< 0 … 1: part of kept activations in the host's memory
};

/// The same inputs from numbers, of whose micro-batches a sample may be a part.
memory::MemorySetup memory_setup_of(const Setting& setting, const NumberedPlan& numbered);

/// The same iteration, `factor` > 0 times as long in all its parts.
IterationTime stretched(IterationTime time, double factor);

/// One plan of a training, predicted.
struct ParallelAnswer {
  parallel::ParallelPlan plan = {};
  PlanSizes sizes = {};     ///< without stage_layers
  IterationTime time = {};  ///< without waits for memory
  TimeRange range = {};     ///< factors on time.total, without waits for memory
  MemoryNeed need = {};
  MemoryWaits waits = {};
  memory::RankMemory memory;
  memory::MemoryVerdict verdict = {};
  [[nodiscard]] double seconds() const { return time.total * waits.likely; }
  [[nodiscard]] double low() const { return time.total * range.low * waits.least; }
  [[nodiscard]] double high() const { return time.total * range.high * waits.most; }
};

/// Time and memory of a training on devices of `device_bytes` (usable_memory()). Everything that
/// answers a training takes this function: plans of a user, and published trainings. Throws
/// ConfigError where the memory of the plan is not computed.
ParallelAnswer answer_of(const ParallelTimeFile& file, const Setting& setting,
                         const NumberedPlan& numbered, double device_bytes);

/// answer_of() a plan of a user. Throws ConfigError with the first fault of the plan, and for
/// orders of ranks that are not timed.
ParallelAnswer predict_plan(const ParallelTimeFile& file, const ParallelQuestion& question,
                            const ParallelHardware& hardware, const Setting& setting,
                            const parallel::ParallelPlan& plan);

/// Flop/s of the model's products and attention, forward and backward without recomputation, over
/// the peak of all GPUs in the precision asked for: model flop utilisation. [arXiv:2204.02311,
/// appendix B, with causal attention counted whole as there]
double flop_utilisation(const ParallelQuestion& question, const Setting& setting,
                        const ParallelAnswer& answer);

}  // namespace dlscale::model::parallel_time
