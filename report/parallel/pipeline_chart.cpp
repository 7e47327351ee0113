#include "report/parallel/pipeline_chart.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/gantt.hpp"

namespace dlscale::report {
namespace {

using model::parallel_time::Activity;
using model::parallel_time::ParallelTimeline;
using model::parallel_time::RankTimes;
using model::parallel_time::TimelineSpan;

constexpr std::size_t most_lanes = 8;
constexpr std::size_t most_boxes = 240;

/// A kind of work: in JSON, and in words.
struct Kind {
  std::string_view key;
  std::string_view word;
};
constexpr std::array kinds{Kind{"forward", "forward"},
                           Kind{"backward", "backward"},
                           Kind{"messages", "messages"},
                           Kind{"waits", "waits for memory or stragglers"},
                           Kind{"weights", "gradients of weights"},
                           Kind{"update", "update"},
                           Kind{"gradients", "exchange of gradients"},
                           Kind{"idle", "idle"}};
constexpr std::size_t idle = kinds.size() - 1;

std::size_t index_of(std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(kinds, key, &Kind::key) - kinds.begin());
}

std::string_view key_of(Activity activity) {
  switch (activity) {
    case Activity::forward:
      return "forward";
    case Activity::recompute:
    case Activity::backward:
      return "backward";
    case Activity::weights:
      return "weights";
    case Activity::layer_messages:
    case Activity::stage_messages:
      return "messages";
    case Activity::fill:
    case Activity::wait:
    case Activity::drain:
      return "idle";
    case Activity::gradients:
      return "gradients";
    case Activity::update:
      return "update";
    case Activity::memory:
    case Activity::stragglers:
      return "waits";
  }
  fail_expectation("an activity");
}

/// Six digits, which are finer than any drawing.
double rounded(double seconds) {
  return std::stod(fmt::format("{:.6g}", seconds));
}

/// The work of a stage, with spans of one kind and micro-batch joined.
std::vector<TimelineSpan> work_of(const std::vector<TimelineSpan>& spans) {
  std::vector<TimelineSpan> work;
  for (const TimelineSpan& span : spans) {
    const std::string_view key = key_of(span.activity);
    if (key == "idle") continue;
    const bool goes_on =
        !work.empty() && key_of(work.back().activity) == key && work.back().part == span.part &&
        work.back().micro_batch == span.micro_batch && work.back().end >= span.start;
    if (goes_on) {
      work.back().end = span.end;
    } else {
      work.push_back(span);
    }
  }
  return work;
}

/// The stages that are drawn: all, or some at equal distances.
std::vector<std::size_t> lanes_of(std::size_t stages) {
  std::vector<std::size_t> lanes(std::min(stages, most_lanes));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] = lanes.size() == stages ? i : i * (stages - 1) / (most_lanes - 1);
  }
  return lanes;
}

using Window = std::pair<double, double>;

/// The whole step if it has few boxes; else as many boxes as are drawn, two fifths of them at each
/// end and one in the middle.
std::vector<Window> windows_of(const std::vector<std::vector<TimelineSpan>>& lanes, double end) {
  std::vector<double> starts;
  for (const auto& lane : lanes) {
    for (const TimelineSpan& box : lane) starts.push_back(box.start.si());
  }
  if (starts.size() <= most_boxes) return {{0, end}};
  std::ranges::sort(starts);
  constexpr std::size_t at_end = most_boxes * 2 / 5;
  constexpr std::size_t half = most_boxes / 10;
  const std::size_t middle = starts.size() / 2;
  return {{0, starts[at_end]},
          {starts[middle - half], starts[middle + half]},
          {starts[starts.size() - at_end], end}};
}

Json boxes_json(const std::vector<TimelineSpan>& work, const std::vector<Window>& windows) {
  Json boxes = Json::array();
  for (const TimelineSpan& box : work) {
    const auto shows = [&box](const Window& window) {
      return box.start.si() < window.second && box.end.si() > window.first;
    };
    if (std::ranges::none_of(windows, shows)) continue;
    boxes.push_back(
        {key_of(box.activity), rounded(box.start.si()), rounded(box.end.si()), box.micro_batch});
  }
  return boxes;
}

Json stage_json(std::size_t stage, const RankTimes& times) {
  std::array<double, kinds.size()> seconds = {};
  for (std::size_t i = 0; i < times.seconds.size(); ++i) {
    seconds.at(index_of(key_of(static_cast<Activity>(i)))) += times.seconds.at(i);
  }
  Json object{{"stage", stage + 1}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (seconds.at(i) > 0) object[fmt::format("{}_s", kinds.at(i).key)] = rounded(seconds.at(i));
  }
  return object;
}

/// Seconds of a stage by kind.
std::array<double, kinds.size()> seconds_of(const Json& stage) {
  std::array<double, kinds.size()> seconds = {};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    seconds.at(i) = stage.value(fmt::format("{}_s", kinds.at(i).key), 0.0);
  }
  return seconds;
}

double idle_share(const Json& stage) {
  const auto seconds = seconds_of(stage);
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return all > 0 ? seconds.at(idle) / all : 0;
}

figure::GanttLane lane_of(const Json& stage) {
  figure::GanttLane lane{
      "stage " + stage.at("stage").dump(), "idle " + percent(idle_share(stage)), {}};
  for (const Json& box : stage.at("boxes")) {
    const std::size_t kind = index_of(box.at(0).get<std::string>());
    const int micro_batch = box.at(3).get<int>();
    if (kind >= idle) continue;
    lane.boxes.push_back({kind, box.at(1).get<double>(), box.at(2).get<double>(),
                          micro_batch < 0 ? "" : std::to_string(micro_batch + 1)});
  }
  return lane;
}

/// A row for each stage; kinds that no stage has are left out.
Table times_of_stages(const Json& stages) {
  Table table{"Time of each stage in a step, ms", {{"stage", Align::left}}, {}, {}};
  std::vector<std::size_t> shown;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto has = [kind](const Json& stage) { return seconds_of(stage).at(kind) > 0; };
    if (!std::any_of(stages.begin(), stages.end(), has)) continue;
    shown.push_back(kind);
    table.columns.push_back({std::string(kinds.at(kind).word)});
  }
  table.columns.push_back({"idle share"});
  for (const Json& stage : stages) {
    std::vector<Cell> row{{stage.at("stage").dump()}};
    const auto seconds = seconds_of(stage);
    for (const std::size_t kind : shown) {
      row.push_back({milliseconds(Seconds(seconds.at(kind)))});
    }
    row.push_back({percent(idle_share(stage))});
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "One step of the pipeline, idle 4.3 % of it on average; shown are 0 s to 1.2 s, …".
std::string title_of(const Json& stages, const figure::Gantt& chart) {
  double share = 0;
  for (const Json& stage : stages) share += idle_share(stage);
  std::string title = fmt::format(
      "One step of the pipeline as simulated: stages are idle {} of it on average. Numbers are "
      "micro-batches",
      percent(share / static_cast<double>(stages.size())));
  if (chart.windows.size() > 1) {
    std::vector<std::string> shown;
    for (const figure::GanttWindow& window : chart.windows) {
      shown.push_back(
          fmt::format("{} to {}", to_text(Seconds(window.from)), to_text(Seconds(window.to))));
    }
    title += fmt::format("; shown are its beginning, some rounds and its end: {}",
                         fmt::join(shown, ", "));
  }
  if (chart.lanes.size() < stages.size()) {
    title += fmt::format(" ({} of {} stages)", chart.lanes.size(), stages.size());
  }
  return title;
}

}  // namespace

Json pipeline_json(const ParallelTimeline& line) {
  const std::vector<std::size_t> lanes = lanes_of(line.stages.size());
  std::vector<std::vector<TimelineSpan>> work;
  for (const std::size_t lane : lanes) work.push_back(work_of(line.stages[lane]));
  const std::vector<Window> windows = windows_of(work, line.iteration.si());
  Json windows_json = Json::array();
  for (const auto& [from, to] : windows) windows_json.push_back({rounded(from), rounded(to)});
  Json stages = Json::array();
  for (std::size_t stage = 0; stage < line.stages.size(); ++stage) {
    stages.push_back(stage_json(stage, line.times[stage]));
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    stages[lanes[i]]["boxes"] = boxes_json(work[i], windows);
  }
  return {{"windows_s", windows_json}, {"stages", stages}};
}

std::optional<Figure> pipeline_figure(const Json& plan) {
  const auto found = plan.find("pipeline");
  if (found == plan.end()) return {};
  const Json& stages = found->at("stages");
  figure::Gantt chart;
  chart.idle = kinds.at(idle).word;
  for (std::size_t kind = 0; kind < idle; ++kind) chart.kinds.emplace_back(kinds.at(kind).word);
  for (const Json& window : found->at("windows_s")) {
    const figure::GanttWindow one{window.at(0).get<double>(), window.at(1).get<double>()};
    if (one.to > one.from) chart.windows.push_back(one);
  }
  for (const Json& stage : stages) {
    if (stage.contains("boxes")) chart.lanes.push_back(lane_of(stage));
  }
  chart.data = times_of_stages(stages);
  chart.title = title_of(stages, chart);
  return figure::gantt(chart);
}

}  // namespace dlscale::report
