#include "model/parallel/pipeline/makespans.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

using parallel::PipelineShape;

/// All micro-batches; or two smaller numbers as far apart as the smaller one has rounds.
std::vector<int> simulated_numbers(const parallel::PipelineSchedule& schedule,
                                   const PipelineShape& shape, double most_pieces) {
  const double affordable = most_pieces / shape.parts();
  if (shape.micro_batches <= affordable) return {shape.micro_batches};
  constexpr int least_rounds = 2;
  constexpr int simulated_rounds = 3;  // of both numbers together, in rounds of the smaller
  const int rest = shape.micro_batches % shape.stages;
  const auto takes = [&](int few) {
    return obstacle(schedule, {shape.stages, shape.chunks, few}).empty();
  };
  const int from =
      std::max(least_rounds, static_cast<int>(affordable / (simulated_rounds * shape.stages)));
  for (int rounds = from; rest + 2 * rounds * shape.stages < shape.micro_batches; ++rounds) {
    const int few = rest + rounds * shape.stages;
    const int more = few + rounds * shape.stages;
    if (takes(few) && takes(more)) return {few, more};
  }
  return {shape.micro_batches};
}

}  // namespace

Makespans::Makespans(const parallel::PipelineSchedule& schedule, const PipelineShape& shape,
                     double most_pieces)
    : micro_batches_(shape.micro_batches) {
  EXPECT(most_pieces > 0);
  for (const int few : simulated_numbers(schedule, shape, most_pieces)) {
    lists_.push_back(schedule.schedule({shape.stages, shape.chunks, few}));
  }
}

Seconds Makespans::of(const PipelineCosts& costs) const {
  const Seconds some = simulate(lists_.back(), costs).makespan;
  if (lists_.size() == 1) return some;
  const Seconds fewer = simulate(lists_.front(), costs).makespan;
  const int from = lists_.front().shape.micro_batches;
  const int to = lists_.back().shape.micro_batches;
  return some + static_cast<double>(micro_batches_ - to) / (to - from) * (some - fewer);
}

std::vector<int> Makespans::simulated() const {
  std::vector<int> numbers;
  for (const parallel::Schedule& each : lists_) numbers.push_back(each.shape.micro_batches);
  return numbers;
}

}  // namespace dlscale::model
