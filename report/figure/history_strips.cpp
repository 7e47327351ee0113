#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/comparison_figures.hpp"
#include "report/numbers.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double width = 860;
constexpr double strip = 128;
constexpr std::size_t most_strips = 24;
constexpr std::size_t most_points = 100;

bool usable(double value) {
  return std::isfinite(value) && value > 0;
}

/// The part of a strip that is drawn: its last points.
std::size_t first_point(const StripRow& row) {
  return row.values.size() > most_points ? row.values.size() - most_points : 0;
}

void draw_levels(Canvas& canvas, const Frame& frame, const ChangePoints& found, double first) {
  for (const HistorySegment& segment : found.segments) {
    const double from = std::max(first, static_cast<double>(segment.first));
    const auto to = static_cast<double>(segment.last);
    if (to < first) continue;
    const double y = frame.y.at(segment.level);
    canvas.line({frame.x.at(from - 0.4), y}, {frame.x.at(to + 0.4), y}, "s0 wide");
  }
  for (const ChangePoint& change : found.changes) {
    const double middle = static_cast<double>(change.before + change.after) / 2;
    if (middle < first) continue;
    canvas.line({frame.x.at(middle), frame.y.from}, {frame.x.at(middle), frame.y.to}, "dash");
    canvas.text({frame.x.at(middle) + 3, frame.y.to + 10}, signed_percent(change.ratio - 1));
  }
}

void draw_points(Canvas& canvas, const Frame& frame, const StripRow& row, std::size_t first) {
  for (std::size_t i = first; i < row.values.size(); ++i) {
    if (!usable(row.values[i])) continue;
    const std::string who = i < row.labels.size() ? row.labels[i] : fmt::format("point {}", i);
    canvas.circle({frame.x.at(static_cast<double>(i)), frame.y.at(row.values[i])}, 2.5, "c3",
                  fmt::format("{}: {} {}", who, significant(row.values[i], 4), row.unit));
  }
}

void draw_strip(Canvas& canvas, const StripRow& row, double top) {
  const std::size_t first = first_point(row);
  double least = HUGE_VAL;
  double most = 0;
  for (std::size_t i = first; i < row.values.size(); ++i) {
    if (!usable(row.values[i])) continue;
    least = std::min(least, row.values[i]);
    most = std::max(most, row.values[i]);
  }
  canvas.text({80, top + 12},
              fmt::format("{} ({}), {}", row.name, row.unit, history_shape_name(row.found.shape)),
              Anchor::start, "bold");
  const double room = (most - least) * 0.1;
  const Frame frame =
      frame_in({80, top + 20, width - 100, strip - 62},
               {static_cast<double>(first) - 1, static_cast<double>(row.values.size())},
               {least - room, most + room});
  draw_axes(canvas, frame, {}, linear_ticks(frame.y), "commits, the oldest first", "");
  draw_levels(canvas, frame, row.found, static_cast<double>(first));
  draw_points(canvas, frame, row, first);
}

}  // namespace

std::optional<Figure> history_strips(std::span<const StripRow> rows) {
  std::vector<const StripRow*> shown;
  std::size_t fit = 0;
  for (const StripRow& row : rows) {
    const auto first = row.values.begin() + static_cast<std::ptrdiff_t>(first_point(row));
    if (std::count_if(first, row.values.end(), usable) < 2) continue;
    ++fit;
    if (shown.size() < most_strips) shown.push_back(&row);
  }
  if (shown.empty()) return {};
  Canvas canvas(width, strip * static_cast<double>(shown.size()));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    draw_strip(canvas, *shown[i], strip * static_cast<double>(i));
  }
  std::string title = "History: points (grey), levels (lines) and where they changed";
  if (shown.size() < fit) title += fmt::format(" ({} more are not drawn)", fit - shown.size());
  const std::string alt = fmt::format(
      "The last points of {}, the level of each segment, and a broken line where the level "
      "changed, with the change in percent.",
      fmt::format("{} series", shown.size()));
  return Figure{"history", title, alt, canvas.svg(title, alt), "history.svg"};
}

}  // namespace dlscale::report::figure
