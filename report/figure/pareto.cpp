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

/// Whether intervals of the point are drawn: others would hide the front.
bool has_whiskers(const ParetoPoint& point) {
  return (point.front || point.best) && point.x_low && point.x_high;
}

/// The least and the most along one direction, with ends of whiskers, and room at both.
Scale scale_of(const std::vector<ParetoPoint>& points, double ParetoPoint::*value,
               std::optional<double> ParetoPoint::*low, std::optional<double> ParetoPoint::*high) {
  double least = points.front().*value;
  double most = least;
  for (const ParetoPoint& point : points) {
    const bool drawn = has_whiskers(point);
    least = std::min(least, drawn ? (point.*low).value_or(point.*value) : point.*value);
    most = std::max(most, drawn ? (point.*high).value_or(point.*value) : point.*value);
  }
  const double room = std::max((most - least) * 0.1, 0.02 * most);
  return {std::max(0.0, least - room), most + room};
}

/// `room`: px that labels take on the right.
Frame frame_of(const std::vector<ParetoPoint>& points, double room) {
  return frame_in({76, 14, figure_width - 76 - room, 270},
                  scale_of(points, &ParetoPoint::x, &ParetoPoint::x_low, &ParetoPoint::x_high),
                  scale_of(points, &ParetoPoint::y, &ParetoPoint::y_low, &ParetoPoint::y_high));
}

void draw_whiskers(Canvas& canvas, const Frame& frame, const ParetoPoint& point) {
  if (!has_whiskers(point)) return;
  const Point at{frame.x.at(point.x), frame.y.at(point.y)};
  canvas.line({frame.x.at(*point.x_low), at.y}, {frame.x.at(*point.x_high), at.y}, "axis");
  for (const double end : {*point.x_low, *point.x_high}) {
    canvas.line({frame.x.at(end), at.y - 3}, {frame.x.at(end), at.y + 3}, "axis");
  }
  if (!point.y_low || !point.y_high) return;
  const char* const thin = "axis faint";  // long where both numbers grow with one time
  canvas.line({at.x, frame.y.at(*point.y_low)}, {at.x, frame.y.at(*point.y_high)}, thin);
  for (const double end : {*point.y_low, *point.y_high}) {
    canvas.line({at.x - 3, frame.y.at(end)}, {at.x + 3, frame.y.at(end)}, thin);
  }
}

/// The boundary of what some point of the front beats in both: right, then down to the next one.
void draw_front(Canvas& canvas, const Frame& frame, const std::vector<ParetoPoint>& points) {
  std::vector<Point> front;
  for (const ParetoPoint& point : points) {
    if (point.front) front.push_back({frame.x.at(point.x), frame.y.at(point.y)});
  }
  std::ranges::sort(front, {}, &Point::x);
  std::vector<Point> stairs;
  for (const Point& point : front) {
    if (!stairs.empty()) stairs.push_back({point.x, stairs.back().y});
    stairs.push_back(point);
  }
  if (stairs.size() > 1) canvas.lines(stairs, "s0 wide");
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

/// The points, those of the front over the others.
void draw_points(Canvas& canvas, const Frame& frame, std::vector<ParetoPoint> points,
                 const ParetoAxes& axes) {
  std::ranges::stable_partition(points, [](const ParetoPoint& point) { return !point.front; });
  for (const ParetoPoint& point : points) {
    const Point at{frame.x.at(point.x), frame.y.at(point.y)};
    canvas.circle(at, 4, point.front ? "c0" : "c3",
                  fmt::format("{}: {} {}, {} {}", point.name, significant(point.x, 4), axes.x,
                              significant(point.y, 4), axes.y));
    if (point.best) canvas.circle(at, 8, "hollow s1");
  }
}

std::string ends_text(std::optional<double> low, std::optional<double> high) {
  return low && high ? from_to(significant(*low, 4), significant(*high, 4)) : "–";
}

Table numbers_of(const std::vector<ParetoPoint>& points, const ParetoAxes& axes) {
  const bool has_y_ends =
      std::ranges::any_of(points, [](const ParetoPoint& point) { return point.y_low.has_value(); });
  Table table{"Choices by two numbers",
              {{"choice", Align::left}, {axes.x}, {"90 % interval"}, {axes.y}},
              {},
              {}};
  if (has_y_ends) table.columns.push_back({"90 % interval of these"});
  table.columns.push_back({"place", Align::left});
  for (const ParetoPoint& point : points) {
    std::vector<Cell> cells{{point.name},
                            {significant(point.x, 4)},
                            {ends_text(point.x_low, point.x_high)},
                            {significant(point.y, 4)}};
    if (has_y_ends) cells.push_back({ends_text(point.y_low, point.y_high)});
    cells.push_back({point.best ? "best" : point.front ? "front" : ""});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The marks that are drawn, in words.
std::string title_of(const std::vector<ParetoPoint>& points, const ParetoAxes& axes) {
  std::string title = "Choices. Line: none shown beats these in both";
  if (!std::ranges::all_of(points, &ParetoPoint::front)) title += "; grey: another does";
  if (std::ranges::any_of(points, &ParetoPoint::best)) title += "; ring: the best";
  if (std::ranges::any_of(points, has_whiskers)) title += "; whiskers: 90 % intervals";
  return axes.words.empty() ? title : title + "; " + axes.words;
}

}  // namespace

void mark_front(std::vector<ParetoPoint>& points) {
  for (ParetoPoint& point : points) {
    point.front = std::ranges::none_of(points, [&point](const ParetoPoint& other) {
      const bool is_better = other.x < point.x || other.y < point.y;
      return other.x <= point.x && other.y <= point.y && (is_better || &other < &point);
    });
  }
}

std::optional<Figure> pareto_front(const std::vector<ParetoPoint>& points, const ParetoAxes& axes) {
  if (points.size() < 2) return {};
  Canvas canvas(figure_width, 330);
  const std::vector<const ParetoPoint*> shown = labelled(points);
  const Frame frame = frame_of(points, room_of(shown));
  draw_axes(canvas, frame, linear_ticks(frame.x), linear_ticks(frame.y),
            axes.x + " (lower is better)", axes.y + " (lower is better)");
  draw_names(canvas, frame, shown);
  for (const ParetoPoint& point : points) draw_whiskers(canvas, frame, point);
  draw_front(canvas, frame, points);
  draw_points(canvas, frame, points, axes);
  const std::string title = title_of(points, axes);
  const std::string alt =
      fmt::format("{} against {} for {}. The table of numbers says the same.", axes.y, axes.x,
                  counted(static_cast<long long>(points.size()), "choice"));
  return Figure{"front", title, alt, canvas.svg(title, alt), "front.svg", numbers_of(points, axes)};
}

}  // namespace dlscale::report::figure
