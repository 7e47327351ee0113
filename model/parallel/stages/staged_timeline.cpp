#include "model/parallel/stages/staged_timeline.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {
namespace {

using parallel::Operation;
using parallel::OperationKind;
using parallel_time::Activity;
using parallel_time::ParallelTimeline;
using parallel_time::RankTimes;
using parallel_time::TimelineSpan;

Activity activity_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::forward:
      return Activity::forward;
    case OperationKind::backward:
    case OperationKind::backward_input:
      return Activity::backward;
    case OperationKind::backward_weights:
      return Activity::weights;
    case OperationKind::update:
      return Activity::update;
    case OperationKind::send_activation:
    case OperationKind::receive_activation:
    case OperationKind::send_gradient:
    case OperationKind::receive_gradient:
    case OperationKind::reduce:
      return Activity::wait;
  }
  fail_expectation("a kind of operation");
}

/// Spans of a rank, one after the other.
class RankSpans {
 public:
  void add(Activity activity, const Operation* operation, Seconds end) {
    if (end <= now_) return;
    const bool has_place = operation != nullptr && parallel::is_computing(operation->kind);
    spans.push_back({activity, operation == nullptr ? -1 : operation->part,
                     has_place ? operation->micro_batch : -1, now_, end});
    times[activity] += (end - now_).si();
    now_ = end;
  }

  /// An operation, with the wait before it. The update takes the end of its stretch.
  void add(const TimedOperation& timed, const std::vector<Seconds>& updates) {
    const Operation& operation = timed.operation;
    const Activity activity = activity_of(operation.kind);
    if (activity == Activity::wait) {
      add(has_computed_ ? Activity::wait : Activity::fill, nullptr, timed.end);
      return;
    }
    if (operation.kind == OperationKind::update) {
      const Seconds takes = updates[static_cast<std::size_t>(operation.part)];
      add(Activity::gradients, nullptr, timed.end - takes);
    }
    add(activity, &operation, timed.end);
    has_computed_ = true;
  }

  std::vector<TimelineSpan> spans = {};
  RankTimes times = {};

 private:
  Seconds now_ = {};
  bool has_computed_ = false;
};

}  // namespace

ParallelTimeline staged_timeline(const StagedTraining& training,
                                 const parallel::ParallelPlan& plan) {
  const parallel::PipelineSchedule& schedule = parallel::find_schedule(plan.schedule);
  const PipelineTimeline simulated = timeline(schedule.schedule(training.shape), training.costs);
  ParallelTimeline line;
  for (const std::vector<TimedOperation>& rank : simulated.ranks) {
    RankSpans spans;
    for (const TimedOperation& timed : rank) spans.add(timed, training.costs.update);
    spans.add(Activity::drain, nullptr, simulated.time.makespan);
    line.stages.push_back(std::move(spans.spans));
    line.times.push_back(spans.times);
  }
  line.pipeline = line.iteration = simulated.time.makespan;
  return line;
}

}  // namespace dlscale::model
