#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/parallel/time/plan_sizes.hpp"
#include "model/parallel/uncertain/interval.hpp"
#include "model/parallel/uncertain/measured_points.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::parallel_time {

/// A published training in terms of the model. `plan.stage_layers` views `stage_layers`, so copies
/// are not made.
struct ParallelTraining {
  Setting setting;
  PlanSizes plan = {};
  std::vector<int> stage_layers = {};
  IntervalFacts interval = {};
  bool is_recompute_known = true;
  std::string framework = {};
  std::vector<MeasuredPoint> given = {};  ///< of the same series

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

}  // namespace dlscale::model::parallel_time
