#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/parallel/plan.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/answer/answer.hpp"
#include "tests/model/parallel/random_training.hpp"

namespace dlscale::model::parallel_time {

/// Relative; times are compared that were computed in other ways.
inline constexpr double rounding = 1e-9;

/// A training with a plan whose schedule can run it.
struct PlannedQuestion {
  Question question;
  parallel::ParallelPlan plan;
  std::vector<int> layers = {};  ///< of each stage; empty: all alike

  [[nodiscard]] Setting setting() const { return setting_of(question); }
  [[nodiscard]] PlanSizes sizes() const {
    PlanSizes is = question.plan;
    is.stage_layers = layers;
    return is;
  }
  [[nodiscard]] std::string text() const {
    return plan.schedule + ", " + std::to_string(plan.stages) + " stages, " +
           std::to_string(plan.chunks) + " chunks, " +
           std::to_string(static_cast<int>(question.plan.micro_batches)) + " micro-batches" +
           (layers.empty() ? "" : ", uneven");
  }
};

inline std::vector<const parallel::PipelineSchedule*> schedules_for(
    const parallel::PipelineShape& shape) {
  std::vector<const parallel::PipelineSchedule*> able;
  for (const parallel::PipelineSchedule* one : family<parallel::PipelineSchedule>().members) {
    if (parallel::obstacle(*one, shape).empty()) able.push_back(one);
  }
  return able;
}

/// Any schedule that fits; half of the plans with stages state uneven ones.
inline PlannedQuestion random_plan(RandomTrainings& random) {
  PlannedQuestion is{random_question(random), {}};
  PlanSizes& sizes = is.question.plan;
  sizes.both_directions = false;
  parallel::PipelineShape shape{static_cast<int>(sizes.stages), static_cast<int>(sizes.chunks),
                                static_cast<int>(sizes.micro_batches)};
  std::vector<const parallel::PipelineSchedule*> able = schedules_for(shape);
  if (able.empty()) {
    sizes.chunks = shape.chunks = 1;
    able = schedules_for(shape);
  }
  is.plan.schedule = able.at(random.below(able.size()))->name;
  sizes.zero_bubble = is.plan.schedule == "zero_bubble";
  sizes.copies = parallel::find_schedule(is.plan.schedule).copies;
  is.plan.data = static_cast<int>(sizes.data);
  is.plan.tensor = static_cast<int>(sizes.tensor);
  is.plan.context = static_cast<int>(sizes.context);
  is.plan.stages = shape.stages;
  is.plan.chunks = shape.chunks;
  is.plan.recompute = sizes.recompute;
  if (shape.stages > 1 && random.coin()) {
    for (int part = 0; part < shape.parts(); ++part) {
      is.plan.stage_layers.push_back(static_cast<int>(1 + random.below(9)));
    }
    is.question.shape.layers = 0;
    for (const int layers : is.plan.stage_layers) is.question.shape.layers += layers;
    is.layers = stage_layers_of(is.plan);
  }
  return is;
}

}  // namespace dlscale::model::parallel_time
