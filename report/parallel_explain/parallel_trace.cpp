#include "report/parallel_explain/parallel_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/trace_event.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::report {
namespace {

using model::parallel_time::TimelineSpan;

/// The micro-batches that are shown: the first and the last ones.
struct Shown {
  int first_end = 0;
  int last_begin = 0;
  int all = 0;
  [[nodiscard]] bool has(int micro_batch) const {
    return micro_batch < first_end || micro_batch >= last_begin;
  }
};

Shown shown_of(const TracedPlan& plan) {
  std::size_t events = 0;
  for (const auto& stage : plan.timeline.stages) events += stage.size();
  const int all = plan.shape.micro_batches;
  if (events <= plan.most_events) return {all, all, all};
  const auto each = events / static_cast<std::size_t>(all) + 1;
  const int half = std::max(1, static_cast<int>(plan.most_events / each / 2));
  return {half, std::max(half, all - half), all};
}

std::string process_name(const TracedPlan& plan, const Shown& shown) {
  std::string name =
      fmt::format("{}: {} ms predicted, {} ms simulated", plan.title, milliseconds(plan.predicted),
                  milliseconds(plan.timeline.iteration));
  if (shown.first_end < shown.last_begin) {
    name += fmt::format(", micro-batches 0 to {} and {} to {} shown", shown.first_end - 1,
                        shown.last_begin, shown.all - 1);
  }
  return name;
}

class StageWriter {
 public:
  StageWriter(const TracedPlan& plan, const Shown& shown, int process, std::size_t stage,
              std::vector<std::string>& lines)
      : plan_(plan), shown_(shown), process_(process), stage_(stage), lines_(lines) {}

  void write() {
    lines_.push_back(
        trace_name_line(process_, "thread_name", stage_, fmt::format("stage {}", stage_ + 1)));
    const std::vector<TimelineSpan>& spans = plan_.timeline.stages[stage_];
    bool is_next_shown = true;  // waits are shown with what they wait for
    std::vector<const TimelineSpan*> kept;
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      if (span->micro_batch >= 0) is_next_shown = shown_.has(span->micro_batch);
      if (is_next_shown) kept.push_back(&*span);
    }
    for (auto span = kept.rbegin(); span != kept.rend(); ++span) write(**span);
  }

 private:
  void write(const TimelineSpan& span) {
    const std::string name(activity_name(span.activity));
    TraceEvent event{name, "predicted", name,  span.start, span.end - span.start,
                     0,    process_,    stage_};
    if (span.micro_batch >= 0) event.numbers.emplace_back("micro_batch", span.micro_batch);
    if (span.part >= 0) event.numbers.emplace_back("chunk", span.part / plan_.shape.stages);
    lines_.push_back(trace_line(event));
  }

  const TracedPlan& plan_;
  const Shown& shown_;
  int process_;
  std::size_t stage_;
  std::vector<std::string>& lines_;
};

}  // namespace

std::string parallel_trace(std::span<const TracedPlan> plans) {
  EXPECT(!plans.empty());
  std::vector<std::string> lines;
  int process = 0;
  for (const TracedPlan& plan : plans) {
    const Shown shown = shown_of(plan);
    lines.push_back(trace_name_line(process, "process_name", 0, process_name(plan, shown)));
    for (std::size_t stage = 0; stage < plan.timeline.stages.size(); ++stage) {
      StageWriter(plan, shown, process, stage, lines).write();
    }
    ++process;
  }
  return fmt::format("{}{}{}", trace_opening, fmt::join(lines, ",\n"), trace_closing);
}

}  // namespace dlscale::report
