#pragma once
#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {

/// A pipeline drawn at random.
struct RandomPipeline {
  const parallel::PipelineSchedule* schedule;
  parallel::PipelineShape shape;
  PipelineCosts costs;
  [[nodiscard]] std::string text() const {
    return std::string(schedule->name) + ", " + std::to_string(shape.stages) + " stages, " +
           std::to_string(shape.chunks) + " chunks, " + std::to_string(shape.micro_batches) +
           " micro-batches";
  }
};

enum class Parts { equal, unequal };

/// Up to 8 stages and 24 micro-batches; in half of the cases messages take time.
inline RandomPipeline random_pipeline(std::mt19937& random,
                                      const parallel::PipelineSchedule& schedule, Parts parts) {
  std::uniform_real_distribution<double> unit(0, 1);
  RandomPipeline pipeline{&schedule, {}, {}};
  do {
    pipeline.shape = {static_cast<int>(1 + random() % 8), static_cast<int>(1 + random() % 3),
                      static_cast<int>(1 + random() % 24)};
  } while (!parallel::obstacle(schedule, pipeline.shape).empty());
  const auto count = static_cast<std::size_t>(pipeline.shape.parts());
  const bool has_messages = random() % 2 == 0;
  const double forward = 0.1 + 2 * unit(random);
  const double backward = 0.1 + 4 * unit(random);
  const double weights = unit(random);
  const double message = has_messages ? unit(random) * (random() % 4 == 0 ? 3 : 0.3) : 0;
  const auto varied = [&](double value) {
    return parts == Parts::equal ? value : value * (0.5 + unit(random));
  };
  for (std::size_t part = 0; part < count; ++part) {
    pipeline.costs.forward.emplace_back(varied(forward));
    pipeline.costs.backward.emplace_back(varied(backward));
    pipeline.costs.backward_weights.push_back(weights * pipeline.costs.backward.back());
    if (part + 1 < count) pipeline.costs.boundary.emplace_back(varied(message));
  }
  return pipeline;
}

/// A schedule of the family.
inline const parallel::PipelineSchedule& random_schedule(std::mt19937& random) {
  const auto all = family<parallel::PipelineSchedule>().members;
  return *all[random() % all.size()];
}

}  // namespace dlscale::model
