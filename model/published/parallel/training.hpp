#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/parallel/time/plan_sizes.hpp"
#include "model/parallel/uncertain/measured_points.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::parallel_time {

/// A published training in terms of the model. `plan.stage_layers` views `stage_layers`, so copies
/// are not made.
struct ParallelTraining {
  Setting setting;
  PlanSizes plan = {};
  parallel::ParallelPlan schedule = {};  ///< schedule, and what memory depends on beside sizes
  std::vector<int> stage_layers = {};
  double device_bytes = 1;  ///< usable_memory() of its device
  bool is_family_named = true;
  bool is_recompute_known = true;
  std::string framework = {};
  std::vector<MeasuredPoint> given = {};  ///< measured ones that may be read
  bool is_given_plan = true;              ///< these differ in their number of replicas alone

  /// The plan for answer_of(), which views this training.
  [[nodiscard]] NumberedPlan numbered() const {
    return {plan, schedule, framework, is_family_named};
  }

  explicit ParallelTraining(Setting of) : setting(std::move(of)) {}
  ParallelTraining(const ParallelTraining&) = delete;
  ParallelTraining& operator=(const ParallelTraining&) = delete;
  ParallelTraining(ParallelTraining&&) = default;  // a moved vector keeps its elements
  ParallelTraining& operator=(ParallelTraining&&) = default;
  ~ParallelTraining() = default;
};

/// Whether the training goes beyond data parallelism: it cuts layers, sequences or experts, shards
/// states, or says what it computes again.
bool goes_beyond_data_parallelism(const cases::ScalingCase& training);

/// Throws ConfigError, a sentence, for a training that the model does not cover: a network whose
/// sizes are not stated, an unknown device, precision or plan, or other samples than sequences.
ParallelTraining parallel_training(const cases::ScalingCase& training,
                                   const DeviceCatalogue& devices, const ParallelTimeFile& file);

/// Whether the allocator of a training waits for memory, as far as the model knows.
bool waits_for_memory(const ParallelTimeFile& file, const ParallelTraining& training);

}  // namespace dlscale::model::parallel_time
