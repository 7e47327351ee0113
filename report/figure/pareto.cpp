#include "report/figure/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report::figure {
namespace {

bool has_whisker(const ParetoPoint& point) {
  return (point.front || point.best) && point.x_low && point.x_high;
}

Frame frame_of(const std::vector<ParetoPoint>& points) {
  const auto [low, high] = std::ranges::minmax_element(points, {}, &ParetoPoint::y);
  double left = points.front().x;
  double right = left;
  for (const ParetoPoint& point : points) {
    const bool known = has_whisker(point);
    left = std::min(left, known ? *point.x_low : point.x);
    right = std::max(right, known ? *point.x_high : point.x);
  }
  const double room_x = std::max((right - left) * 0.1, 0.02 * right);
  const double room_y = std::max((high->y - low->y) * 0.1, 0.02 * high->y);
  return frame_in({76, 14, figure_width - 76 - 130, 270},
                  {std::max(0.0, left - room_x), right + room_x},
                  {std::max(0.0, low->y - room_y), high->y + room_y});
}

void draw_whisker(Canvas& canvas, const Frame& frame, const ParetoPoint& point) {
  if (!has_whisker(point)) return;
  const double y = frame.y.at(point.y);
  canvas.line({frame.x.at(*point.x_low), y}, {frame.x.at(*point.x_high), y}, "axis");
  for (const double end : {*point.x_low, *point.x_high}) {
    canvas.line({frame.x.at(end), y - 3}, {frame.x.at(end), y + 3}, "axis");
  }
}

void draw_front(Canvas& canvas, const Frame& frame, const std::vector<ParetoPoint>& points) {
  std::vector<Point> line;
  for (const ParetoPoint& point : points) {
    if (point.front) line.push_back({frame.x.at(point.x), frame.y.at(point.y)});
  }
  std::ranges::sort(line, {}, &Point::x);
  if (line.size() > 1) canvas.lines(line, "s0 wide");
}

/// Names beside the points, the best first; a name that would touch another is left out.
void draw_names(Canvas& canvas, const Frame& frame, std::vector<ParetoPoint> points) {
  std::ranges::stable_sort(points, std::greater{}, &ParetoPoint::best);
  std::vector<Point> taken;
  for (const ParetoPoint& point : points) {
    if (!point.front && !point.best) continue;
    const bool right =
        point.x >
        frame.x.low + 0.7 * (frame.x.high - frame.x.low);  // keeps the name in the drawing
    const Point at{frame.x.at(point.x) + (right ? 6 : 9), frame.y.at(point.y) - 7};
    const bool touches = std::ranges::any_of(taken, [&at](const Point& other) {
      return std::abs(other.y - at.y) < 15 && std::abs(other.x - at.x) < 240;
    });
    if (touches) continue;
    canvas.text(at, cut_to_width(point.name, 30), right ? Anchor::end : Anchor::start,
                point.best ? "bold" : "");
    taken.push_back(at);
  }
}

Table numbers_of(const std::vector<ParetoPoint>& points, const ParetoAxes& axes) {
  Table table{"Choices by two numbers",
              {{"choice", Align::left}, {axes.x}, {"90 % interval"}, {axes.y}, {"", Align::left}},
              {},
              {}};
  table.columns.back().heading = "place";
  for (const ParetoPoint& point : points) {
    table.rows.push_back({{point.name},
                          {significant(point.x, 4)},
                          {point.x_low && point.x_high ? from_to(significant(*point.x_low, 4),
                                                                 significant(*point.x_high, 4))
                                                       : "–"},
                          {significant(point.y, 4)},
                          {point.best    ? "best"
                           : point.front ? "front"
                                         : ""}});
  }
  return table;
}

}  // namespace

std::optional<Figure> pareto_front(const std::vector<ParetoPoint>& points, const ParetoAxes& axes) {
  if (points.size() < 2) return {};
  Canvas canvas(figure_width, 330);
  const Frame frame = frame_of(points);
  draw_axes(canvas, frame, linear_ticks(frame.x), linear_ticks(frame.y),
            axes.x + " (lower is better)", axes.y + " (lower is better)");
  for (const ParetoPoint& point : points) draw_whisker(canvas, frame, point);
  draw_front(canvas, frame, points);
  for (const ParetoPoint& point : points) {
    const Point at{frame.x.at(point.x), frame.y.at(point.y)};
    canvas.circle(at, 4, point.front ? "c0" : "c3",
                  fmt::format("{}: {} {}, {} {}", point.name, significant(point.x, 4), axes.x,
                              significant(point.y, 4), axes.y));
    if (point.best) canvas.circle(at, 8, "hollow s1");
  }
  draw_names(canvas, frame, points);
  const std::string title = fmt::format(
      "Choices: the line joins those that no other beats in both, the ring is the best{}",
      std::ranges::any_of(points, has_whisker) ? "; whiskers: 90 % interval" : "");
  const std::string alt =
      fmt::format("{} against {} for {}. The table of numbers says the same.", axes.y, axes.x,
                  counted(static_cast<long long>(points.size()), "choice"));
  return Figure{"front", title, alt, canvas.svg(title, alt), "front.svg", numbers_of(points, axes)};
}

}  // namespace dlscale::report::figure
