#include "report/figure/gantt.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double lane_row = 28;
constexpr double lane_bar = 22;
constexpr double top_of_lanes = 36;
constexpr double left_of_lanes = 76;
constexpr double right_of_lanes = 96;
constexpr double window_gap = 16;
constexpr double kind_gap = 10;
/// Boxes are drawn this strong, so that dark and light texts within them are readable.
constexpr double box_strength = 0.45;

double text_width(const std::string& text) {
  return glyph * static_cast<double>(display_width(text));
}

/// A unit for times, and its number in a second.
struct TimeUnit {
  const char* name = "s";
  double factor = 1;
};

TimeUnit unit_of(const Gantt& chart) {
  return chart.windows.back().to < 1 ? TimeUnit{"ms", 1e3} : TimeUnit{};
}

/// The frames of the windows, from left to right; all have the same scale.
std::vector<Frame> frames_of(const Gantt& chart, double factor) {
  const auto gaps = static_cast<double>(chart.windows.size() - 1) * window_gap;
  const double room = figure_width - left_of_lanes - right_of_lanes - gaps;
  const double height = lane_row * static_cast<double>(chart.lanes.size());
  double seconds = 0;
  for (const GanttWindow& window : chart.windows) seconds += window.to - window.from;
  std::vector<Frame> frames;
  double x = left_of_lanes;
  for (const GanttWindow& window : chart.windows) {
    const double width = room * (window.to - window.from) / seconds;
    frames.push_back(frame_in({x, top_of_lanes, width, height},
                              {factor * window.from, factor * window.to}, {0, 1}));
    x += width + window_gap;
  }
  return frames;
}

/// The part of a box that is within a frame, px; empty if none is.
struct Stretch {
  double from = 0;
  double to = 0;
  [[nodiscard]] double width() const { return to - from; }
};

Stretch stretch_of(const Frame& frame, double factor, double start, double end) {
  return {frame.x.at(std::max(frame.x.low, factor * start)),
          frame.x.at(std::min(frame.x.high, factor * end))};
}

/// Draws "idle" in the widest gap of a lane where it fits.
void draw_idle(Canvas& canvas, std::span<const Frame> frames, const Gantt& chart,
               const GanttLane& lane, double factor, double y) {
  Stretch widest;
  for (const Frame& frame : frames) {
    double free_from = frame.x.from;
    for (const GanttBox& box : lane.boxes) {
      const Stretch stretch = stretch_of(frame, factor, box.start, box.end);
      if (stretch.width() <= 0) continue;
      if (stretch.from - free_from > widest.width()) widest = {free_from, stretch.from};
      free_from = stretch.to;
    }
    if (frame.x.to - free_from > widest.width()) widest = {free_from, frame.x.to};
  }
  if (widest.width() < text_width(chart.idle) + 6) return;
  canvas.text({(widest.from + widest.to) / 2, y + 15}, chart.idle, Anchor::middle, "soft");
}

void draw_lane(Canvas& canvas, std::span<const Frame> frames, const Gantt& chart,
               const GanttLane& lane, const TimeUnit& unit, double y) {
  canvas.text({left_of_lanes - 8, y + 15}, cut_to_width(lane.name, 10), Anchor::end);
  canvas.text({figure_width - right_of_lanes + 8, y + 15}, lane.remark);
  for (const Frame& frame : frames) {
    canvas.rect({frame.x.from, y, frame.x.to - frame.x.from, lane_bar}, "band");
    for (const GanttBox& box : lane.boxes) {
      const Stretch stretch = stretch_of(frame, unit.factor, box.start, box.end);
      if (stretch.width() <= 0) continue;
      const std::string number = box.text.empty() ? "" : " " + box.text;
      canvas.rect({stretch.from, y, stretch.width(), lane_bar},
                  fill_class(box.kind) + " " + stroke_class(box.kind),
                  fmt::format("{}: {}{}, {} to {} {}", lane.name, chart.kinds.at(box.kind), number,
                              significant(unit.factor * box.start, 4),
                              significant(unit.factor * box.end, 4), unit.name),
                  box_strength);
      if (stretch.width() < text_width(box.text) + 2) continue;
      canvas.text({(stretch.from + stretch.to) / 2, y + 15}, box.text, Anchor::middle);
    }
  }
  draw_idle(canvas, frames, chart, lane, unit.factor, y);
}

/// The word of a kind, and the box that it names.
struct KindLabel {
  std::size_t kind = 0;
  double middle = 0;  ///< of the box, px
  double below = 0;   ///< top of the box, px
};

/// The widest box of each kind in the highest lane that has one.
std::vector<KindLabel> labels_of(std::span<const Frame> frames, const Gantt& chart, double factor) {
  std::vector<KindLabel> labels;
  for (std::size_t kind = 0; kind < chart.kinds.size(); ++kind) {
    Stretch widest;
    double y = top_of_lanes + 3;
    for (const GanttLane& lane : chart.lanes) {
      for (const GanttBox& box : lane.boxes) {
        if (box.kind != kind) continue;
        for (const Frame& frame : frames) {
          const Stretch stretch = stretch_of(frame, factor, box.start, box.end);
          if (stretch.width() > widest.width()) widest = stretch;
        }
      }
      if (widest.width() > 0) break;
      y += lane_row;
    }
    if (widest.width() > 0) labels.push_back({kind, (widest.from + widest.to) / 2, y});
  }
  std::ranges::sort(labels, {}, &KindLabel::middle);
  return labels;
}

void draw_labels(Canvas& canvas, std::span<const Frame> frames, const Gantt& chart, double factor) {
  const std::vector<KindLabel> labels = labels_of(frames, chart, factor);
  std::vector<double> wanted;
  std::vector<double> widths;
  for (const KindLabel& label : labels) {
    widths.push_back(text_width(chart.kinds[label.kind]));
    wanted.push_back(label.middle - widths.back() / 2);
  }
  const std::vector<double> places = spread(wanted, widths, 4, figure_width - 4, kind_gap);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    canvas.text({places[i], 14}, chart.kinds[labels[i].kind]);
    canvas.line({std::clamp(labels[i].middle, places[i], places[i] + widths[i]), 18},
                {labels[i].middle, labels[i].below}, stroke_class(labels[i].kind) + " wide");
  }
}

}  // namespace

std::optional<Figure> gantt(const Gantt& chart) {
  if (chart.lanes.empty() || chart.windows.empty()) return {};
  const TimeUnit unit = unit_of(chart);
  const std::vector<Frame> frames = frames_of(chart, unit.factor);
  const double height = lane_row * static_cast<double>(chart.lanes.size());
  Canvas canvas(figure_width, top_of_lanes + height + 44);
  for (const Frame& frame : frames) {
    draw_axes(canvas, frame, linear_ticks(frame.x), {}, "", "");
    if (&frame == &frames.back()) continue;
    canvas.text({frame.x.to + window_gap / 2, top_of_lanes + height / 2}, "…", Anchor::middle,
                "soft");
  }
  canvas.text({(left_of_lanes + figure_width - right_of_lanes) / 2, top_of_lanes + height + 35},
              fmt::format("time since the step began, {}", unit.name), Anchor::middle, "soft");
  double y = top_of_lanes + 3;
  for (const GanttLane& lane : chart.lanes) {
    draw_lane(canvas, frames, chart, lane, unit, y);
    y += lane_row;
  }
  draw_labels(canvas, frames, chart, unit.factor);
  const std::string alt = fmt::format(
      "{}: a row of boxes over time for each of {}. The table of numbers has the times of all.",
      chart.title, counted(static_cast<long long>(chart.lanes.size()), "lane"));
  return Figure{"pipeline",     chart.title, alt, canvas.svg(chart.title, alt),
                "pipeline.svg", chart.data};
}

}  // namespace dlscale::report::figure
