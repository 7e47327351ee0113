#include "model/parallel/pipeline/makespans.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "model/parallel/pipeline/simulator.hpp"

namespace dlscale::model {
namespace {

using parallel::PipelineShape;
using parallel::Schedule;

/// Goes through the rounds of a pipeline, as many as one likes, by a list of a few.
class RoundRunner {
 public:
  RoundRunner(const Schedule& list, const Rounds& rounds, const PipelineCosts& costs)
      : rounds_(rounds), parts_(list.shape.parts()), run_(list, costs) {
    to_end_of_round();
  }
  /// Times at the end of the round at hand. A message that waits for its receiver counts as that
  /// one's time, since nothing can read it before.
  [[nodiscard]] std::vector<double> times() const {
    std::vector<double> times;
    for (std::size_t rank = 0; rank < rounds_.end.size(); ++rank) times.push_back(run_.now(rank));
    const std::vector<std::size_t> under_way = rounds_.under_way_at(at_, parts_);
    for (std::size_t i = 0; i < under_way.size(); ++i) {
      times.push_back(std::max(run_.arrival(under_way[i]), times[rounds_.receivers[i]]));
    }
    return times;
  }
  void next_round() {
    if (at_ == rounds_.count) count_as(0);
    ++at_;
    to_end_of_round();
  }
  /// The makespan if the round at hand was the last one.
  Seconds finish() {
    count_as(rounds_.count);
    return run_.run().makespan;
  }

 private:
  void to_end_of_round() { EXPECT(run_.run_to(rounds_.ends_at(at_))); }
  void count_as(int round) {
    run_.go_on_at(rounds_.ends_at(round), rounds_.under_way_at(at_, parts_),
                  (round - at_) * rounds_.micro_batches);
    at_ = round;
  }

  const Rounds& rounds_;
  int parts_;
  int at_ = 0;  ///< the round of the list
  PipelineSimulator run_;
};

/// The sum added to all elements alike, if no two differ by more than 2 `most_error`.
std::optional<double> added(const std::vector<double>& before, const std::vector<double>& after,
                            double most_error) {
  double least = after.front() - before.front();
  double most = least;
  for (std::size_t i = 1; i < after.size(); ++i) {
    const double own = after[i] - before[i];
    least = std::min(least, own);
    most = std::max(most, own);
    if (most - least > 2 * most_error) return std::nullopt;
  }
  return (least + most) / 2;
}

}  // namespace

Makespans::Makespans(const parallel::PipelineSchedule& schedule, const PipelineShape& shape,
                     double most_pieces)
    : schedule_(&schedule), shape_(shape) {
  EXPECT(most_pieces > 0);
  if (static_cast<double>(shape.micro_batches) * shape.parts() <= most_pieces) {
    list_ = schedule.schedule(shape);
  } else {
    list_rounds();
  }
}

/// Lists four micro-batches for each stage, and what is left of their rounds.
void Makespans::list_rounds() {
  constexpr int for_stage = 4;
  const int least = for_stage * shape_.stages;
  for (const int round : std::array{1, 2, shape_.stages}) {
    const int left_out = (shape_.micro_batches - least) / round;
    if (left_out < 2) continue;
    PipelineShape fewer = shape_;
    PipelineShape more = shape_;
    fewer.micro_batches -= left_out * round;
    more.micro_batches = fewer.micro_batches + round;
    if (!obstacle(*schedule_, fewer).empty() || !obstacle(*schedule_, more).empty()) continue;
    Schedule list = schedule_->schedule(fewer);
    rounds_ = rounds_of(list, schedule_->schedule(more));
    if (!rounds_) continue;
    list_ = std::move(list);
    return;
  }
}

Makespan Makespans::find(const PipelineCosts& costs) const {
  if (list_ && !rounds_) return {simulate(*list_, costs).makespan, shape_.micro_batches};
  if (costs.reduce.empty() && costs.update.empty()) {
    const MakespanBounds bounds = closed_form(*schedule_, shape_, costs);
    if (bounds.is_exact()) return {bounds.lower, 0};
  }
  if (rounds_) return by_rounds(costs);
  return {simulate(schedule_->schedule(shape_), costs).makespan, shape_.micro_batches};
}

Makespan Makespans::by_rounds(const PipelineCosts& costs) const {
  constexpr double tolerance = 1e-10;
  const Rounds& rounds = *rounds_;
  const int left_out = shape_.micro_batches - list_->shape.micro_batches;
  const int all = left_out / rounds.micro_batches + rounds.count;
  const int longest_period = 2 * shape_.parts();
  RoundRunner run(*list_, rounds, costs);
  std::vector<std::vector<double>> times{run.times()};  // by round
  for (int round = 1; round <= all; ++round) {
    run.next_round();
    times.push_back(run.times());
    const double added_so_far = times.back().front() - times.front().front();  // no warm-up
    const double whole = added_so_far / round * all;
    for (int period = 1; period <= std::min(round, longest_period); ++period) {
      const int repeats = (all - round) / period;
      if (repeats == 0) break;
      const std::vector<double>& before = times[static_cast<std::size_t>(round - period)];
      const auto of_period = added(before, times.back(), tolerance * whole / repeats);
      if (!of_period) continue;
      const int left = all - round - repeats * period;
      for (int i = 0; i < left; ++i) run.next_round();
      const int simulated = shape_.micro_batches - repeats * period * rounds.micro_batches;
      return {run.finish() + Seconds(repeats * *of_period), simulated};
    }
  }
  return {run.finish(), shape_.micro_batches};
}

}  // namespace dlscale::model
