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

/// `room`: px that labels take on the right.
Frame frame_of(const std::vector<ParetoPoint>& points, double room) {
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
  return frame_in({76, 14, figure_width - 76 - room, 270},
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

/// The most labels that fit beside the drawing.
constexpr std::size_t most_labels = 10;

/// The points that get labels: the best, and points of the front by x, its ends among them.
std::vector<const ParetoPoint*> labelled(const std::vector<ParetoPoint>& points) {
  std::vector<const ParetoPoint*> front;
  std::vector<const ParetoPoint*> shown;
  for (const ParetoPoint& point : points) {
    if (point.best) {
      shown.push_back(&point);
    } else if (point.front) {
      front.push_back(&point);
    }
  }
  std::ranges::sort(front, {}, &ParetoPoint::x);
  const std::size_t count = std::min(front.size(), most_labels - shown.size());
  for (std::size_t i = 0; i < count; ++i) {
    shown.push_back(front[count > 1 ? i * (front.size() - 1) / (count - 1) : 0]);
  }
  return shown;
}

/// Width of the column of labels, px.
double room_of(const std::vector<const ParetoPoint*>& labelled) {
  constexpr double most = 280;
  double widest = 0;
  for (const ParetoPoint* point : labelled) {
    widest = std::max(widest, glyph * static_cast<double>(display_width(point->label)));
  }
  return std::min(most, widest + 20);
}

/// Names in a column beside the drawing, each with a line from its point.
void draw_names(Canvas& canvas, const Frame& frame, const std::vector<const ParetoPoint*>& shown) {
  std::vector<SideLabel> labels;
  for (const ParetoPoint* point : shown) {
    labels.push_back({{frame.x.at(point->x), frame.y.at(point->y)},
                      point->label,
                      "dash",
                      point->best ? "bold" : "",
                      point->name});
  }
  draw_side_labels(canvas, {frame.x.to, 0, figure_width - frame.x.to, frame.y.from}, labels);
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
  const std::vector<const ParetoPoint*> shown = labelled(points);
  const Frame frame = frame_of(points, room_of(shown));
  draw_axes(canvas, frame, linear_ticks(frame.x), linear_ticks(frame.y),
            axes.x + " (lower is better)", axes.y + " (lower is better)");
  draw_names(canvas, frame, shown);
  for (const ParetoPoint& point : points) draw_whisker(canvas, frame, point);
  draw_front(canvas, frame, points);
  for (const ParetoPoint& point : points) {
    const Point at{frame.x.at(point.x), frame.y.at(point.y)};
    canvas.circle(at, 4, point.front ? "c0" : "c3",
                  fmt::format("{}: {} {}, {} {}", point.name, significant(point.x, 4), axes.x,
                              significant(point.y, 4), axes.y));
    if (point.best) canvas.circle(at, 8, "hollow s1");
  }
  const std::string title = fmt::format(
      "Choices: the line joins those that no other beats in both, the ring is the best{}{}",
      std::ranges::any_of(points, has_whisker) ? "; whiskers: 90 % interval" : "",
      axes.words.empty() ? "" : "; " + axes.words);
  const std::string alt =
      fmt::format("{} against {} for {}. The table of numbers says the same.", axes.y, axes.x,
                  counted(static_cast<long long>(points.size()), "choice"));
  return Figure{"front", title, alt, canvas.svg(title, alt), "front.svg", numbers_of(points, axes)};
}

}  // namespace dlscale::report::figure
