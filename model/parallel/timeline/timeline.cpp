#include "model/parallel/timeline/timeline.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/timeline/part_costs.hpp"

namespace dlscale::model::parallel_time {
namespace {

using parallel::Operation;
using parallel::OperationKind;

constexpr Operation no_operation{.part = -1, .micro_batch = -1};

struct Piece {
  Activity activity;
  double seconds;
};

/// Writes the stretches of one rank, each from where the last one ended.
class RankWriter {
 public:
  RankWriter(const std::vector<PartTime>& parts, const PipelineCosts& costs, bool splits_backward)
      : parts_(parts), costs_(costs), splits_backward_(splits_backward) {}

  void add(const TimedOperation& run) {
    switch (run.operation.kind) {
      case OperationKind::forward:
        add_forward(run);
        break;
      case OperationKind::backward:
      case OperationKind::backward_input:
        add_backward(run);
        break;
      case OperationKind::backward_weights:
        until(run.end, Activity::weights, run.operation);
        break;
      case OperationKind::receive_activation:
        add_receive(run, run.operation.part - 1);
        break;
      case OperationKind::receive_gradient:
        add_receive(run, run.operation.part);
        break;
      case OperationKind::update:
        add_update(run);
        break;
      case OperationKind::send_activation:
      case OperationKind::send_gradient:
      case OperationKind::reduce:
        break;
    }
  }

  void until(Seconds end, Activity activity, const Operation& of = no_operation) {
    if (end <= now_) return;
    spans_.push_back({activity, of.part, of.micro_batch, now_, end});
    times_[activity] += (end - now_).si();
    now_ = end;
  }

  [[nodiscard]] const RankTimes& times() const { return times_; }
  std::vector<TimelineSpan> take() { return std::move(spans_); }

 private:
  /// Cuts an operation. Its last piece ends with it, whatever was rounded.
  void cut(const TimedOperation& run, std::array<Piece, 3> pieces) {
    const auto last = std::ranges::find_if(pieces.rbegin(), pieces.rend(),
                                           [](const Piece& one) { return one.seconds > 0; });
    Seconds end = run.start;
    for (const Piece& piece : pieces) {
      const bool is_last = last != pieces.rend() && &piece == &*last;
      end = is_last ? run.end : std::min(end + Seconds(piece.seconds), run.end);
      until(end, piece.activity, run.operation);
    }
    has_computed_ = true;
  }

  [[nodiscard]] const PartTime& part_of(const TimedOperation& run) const {
    return parts_[static_cast<std::size_t>(run.operation.part)];
  }

  void add_forward(const TimedOperation& run) {
    const PassParts& pass = part_of(run).forward;
    cut(run, {Piece{Activity::recompute, pass.recompute},
              Piece{Activity::forward, pass.kernels + pass.host},
              Piece{Activity::layer_messages, pass.messages}});
  }

  void add_backward(const TimedOperation& run) {
    const PassParts& pass = part_of(run).backward;
    const double apart = splits_backward_ ? part_of(run).weights : 0;
    cut(run, {Piece{Activity::recompute, pass.recompute},
              Piece{Activity::backward, std::max(0.0, pass.kernels + pass.host - apart)},
              Piece{Activity::layer_messages, pass.messages}});
  }

  /// The end of a wait is that of the message across `boundary`, which is under way by then.
  void add_receive(const TimedOperation& run, int boundary) {
    const Seconds under_way = costs_.boundary[static_cast<std::size_t>(boundary)];
    until(run.end - under_way, has_computed_ ? Activity::wait : Activity::fill);
    until(run.end, Activity::stage_messages);
  }

  void add_update(const TimedOperation& run) {
    const Seconds update = costs_.update[static_cast<std::size_t>(run.operation.part)];
    const Operation part{.part = run.operation.part, .micro_batch = -1};
    until(run.end - update, Activity::gradients, part);
    until(run.end, Activity::update, part);
  }

  const std::vector<PartTime>& parts_;
  const PipelineCosts& costs_;
  bool splits_backward_;
  bool has_computed_ = false;
  Seconds now_;
  std::vector<TimelineSpan> spans_;
  RankTimes times_;
};

bool is_work(Activity activity) {
  return activity == Activity::forward || activity == Activity::backward ||
         activity == Activity::weights || activity == Activity::recompute ||
         activity == Activity::layer_messages;
}

}  // namespace

std::string_view activity_name(Activity activity) {
  switch (activity) {
    case Activity::forward:
      return "forward";
    case Activity::backward:
      return "backward";
    case Activity::weights:
      return "gradients of weights";
    case Activity::recompute:
      return "recompute";
    case Activity::layer_messages:
      return "messages within layers";
    case Activity::stage_messages:
      return "messages between stages";
    case Activity::fill:
      return "fill";
    case Activity::wait:
      return "wait";
    case Activity::drain:
      return "drain";
    case Activity::gradients:
      return "exchange of gradients";
    case Activity::update:
      return "update";
    case Activity::memory:
      return "waits for memory";
    case Activity::stragglers:
      return "stragglers";
  }
  fail_expectation("an activity");
}

double RankTimes::total() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

double RankTimes::bubble() const {
  return (*this)[Activity::fill] + (*this)[Activity::wait] + (*this)[Activity::drain];
}

ParallelTimeline parallel_timeline(const Setting& setting, const PlanSizes& sizes,
                                   const parallel::ParallelPlan& plan) {
  const IterationTime time = iteration_time(setting, sizes);
  const std::vector<PartTime> parts = part_times(setting, sizes, plan, time);
  const PipelineCosts costs = pipeline_costs(parts, setting, sizes, time);
  const parallel::PipelineSchedule& schedule = parallel::find_schedule(plan.schedule);
  const PipelineTimeline run = timeline(schedule.schedule(shape_of(sizes)), costs);

  ParallelTimeline result;
  result.pipeline = simulated_pipeline(setting, sizes, plan, time);
  const Seconds updated = run.time.makespan + Seconds(fixed_update(setting, time));
  const double stragglers =
      std::max(1.0, time.total / (time.pipeline + time.exposed_gradients + time.update));
  result.iteration = stragglers * updated;
  for (const std::vector<TimedOperation>& rank : run.ranks) {
    RankWriter writer(parts, costs, schedule.splits_backward);
    for (const TimedOperation& operation : rank) writer.add(operation);
    writer.until(run.time.makespan, Activity::drain);
    writer.until(updated, Activity::update);
    writer.until(result.iteration, Activity::stragglers);
    result.times.push_back(writer.times());
    result.stages.push_back(writer.take());
  }
  return result;
}

ParallelTimeline stretched(ParallelTimeline line, double factor) {
  for (std::vector<TimelineSpan>& stage : line.stages) {
    for (TimelineSpan& span : stage) {
      span.start = factor * span.start;
      span.end = factor * span.end;
    }
  }
  for (RankTimes& rank : line.times) {
    for (double& seconds : rank.seconds) seconds *= factor;
  }
  line.pipeline = factor * line.pipeline;
  line.iteration = factor * line.iteration;
  return line;
}

ParallelTimeline with_memory_waits(ParallelTimeline line, double factor) {
  if (factor == 1) return line;
  line = stretched(std::move(line), factor);
  for (std::size_t stage = 0; stage < line.stages.size(); ++stage) {
    RankTimes& times = line.times[stage];
    std::vector<TimelineSpan> spans;
    for (const TimelineSpan& span : line.stages[stage]) {
      spans.push_back(span);
      if (!is_work(span.activity)) continue;
      TimelineSpan& work = spans.back();
      work.end = span.start + (span.end - span.start) / factor;
      TimelineSpan wait = span;
      wait.activity = Activity::memory;
      wait.start = work.end;
      times[span.activity] -= (wait.end - wait.start).si();
      times[Activity::memory] += (wait.end - wait.start).si();
      spans.push_back(wait);
    }
    line.stages[stage] = std::move(spans);
  }
  return line;
}

}  // namespace dlscale::model::parallel_time
