#include "report/figure/speedup_lines.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report::figure {
namespace {

constexpr std::size_t most_lines = most_labelled;
constexpr double right_of_lines = 172;

using Lines = std::span<const SpeedupLine>;

/// A point without what a logarithmic axis cannot show: ends of 0 or below.
SpeedupPoint drawable(SpeedupPoint point) {
  for (std::optional<double>* end : {&point.low, &point.high}) {
    if (*end && !(**end > 0)) end->reset();
  }
  return point;
}

/// The points above 0 of these lines.
std::vector<SpeedupLine> drawable(Lines lines) {
  std::vector<SpeedupLine> all(lines.begin(), lines.end());
  for (SpeedupLine& line : all) {
    for (auto* points : {&line.points, &line.measured}) {
      std::erase_if(*points, [](const SpeedupPoint& point) {
        return point.ranks <= 0 || !(point.speedup > 0);
      });
      std::ranges::transform(*points, points->begin(),
                             [](const SpeedupPoint& point) { return drawable(point); });
    }
  }
  return all;
}

/// The point and the ends of its interval.
std::vector<double> ends_of(const SpeedupPoint& point) {
  std::vector<double> values{point.speedup};
  if (point.low) values.push_back(*point.low);
  if (point.high) values.push_back(*point.high);
  return values;
}

Frame frame_of(Lines lines) {
  double least_ranks = lines.front().points.front().ranks;
  double most_ranks = least_ranks;
  double least = least_ranks;
  double most = least_ranks;
  for (const SpeedupLine& line : lines) {
    for (const auto* points : {&line.points, &line.measured}) {
      for (const SpeedupPoint& point : *points) {
        least_ranks = std::min(least_ranks, static_cast<double>(point.ranks));
        most_ranks = std::max(most_ranks, static_cast<double>(point.ranks));
        const std::vector<double> values = ends_of(point);
        least = std::min(least, std::ranges::min(values));
        most = std::max(most, std::ranges::max(values));
      }
    }
  }
  return frame_in({64, 14, figure_width - 64 - right_of_lines, 290},
                  {least_ranks * 0.95, most_ranks * 1.05, 0, 1, Spacing::logarithmic},
                  {least * 0.95, std::max(most, most_ranks) * 1.05, 0, 1, Spacing::logarithmic});
}

std::string tooltip(const SpeedupPoint& point, const char* how) {
  return fmt::format("{}: {} times, {}", counted(point.ranks, "rank"),
                     significant(point.speedup, 3), how);
}

void draw_line(Canvas& canvas, const Frame& frame, const SpeedupLine& line, std::size_t index) {
  std::vector<Point> middle;
  std::vector<Point> band;
  std::vector<Point> back;
  for (const SpeedupPoint& point : line.points) {
    const double x = frame.x.at(point.ranks);
    middle.push_back({x, frame.y.at(point.speedup)});
    if (!point.low || !point.high) continue;
    band.push_back({x, frame.y.at(*point.low)});
    back.push_back({x, frame.y.at(*point.high)});
  }
  band.insert(band.end(), back.rbegin(), back.rend());
  if (band.size() > 3) canvas.area(band, fill_class(index) + " faint");
  canvas.lines(middle, stroke_class(index) + " wide");
  for (std::size_t i = 0; i < middle.size(); ++i) {
    canvas.circle(middle[i], 3, fill_class(index), tooltip(line.points[i], "predicted"));
  }
}

void draw_measured(Canvas& canvas, const Frame& frame, const SpeedupLine& line, std::size_t index) {
  for (const SpeedupPoint& point : line.measured) {
    const double x = frame.x.at(point.ranks);
    if (point.low && point.high) {
      canvas.line({x, frame.y.at(*point.low)}, {x, frame.y.at(*point.high)},
                  stroke_class(index) + " wide");
    }
    canvas.circle({x, frame.y.at(point.speedup)}, 5, stroke_class(index) + " hollow",
                  tooltip(point, "measured"));
  }
}

/// "14.2 × at 16 (89 %)": the end of a line, with its efficiency.
std::string end_text(const SpeedupPoint& last) {
  return fmt::format("{} × at {} ({:.0f}\u00a0%)", significant(last.speedup, 3), last.ranks,
                     100 * last.speedup / last.ranks);
}

/// Names of the lines at their ends.
void draw_names(Canvas& canvas, const Frame& frame, Lines lines) {
  std::vector<SideLabel> labels{
      {{frame.x.to, frame.y.at(frame.x.high)}, "ideal", "dash", "soft", ""}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const SpeedupPoint& last = lines[i].points.back();
    const std::string name = lines[i].name.empty() ? "" : lines[i].name + "\n";
    labels.push_back({{frame.x.at(last.ranks), frame.y.at(last.speedup)},
                      name + end_text(last),
                      stroke_class(i),
                      "",
                      lines[i].name});
  }
  draw_side_labels(canvas, {frame.x.to + 4, 0, right_of_lines - 4, frame.y.from}, labels);
}

/// A line where communication begins to bound the first curve.
void draw_takeover(Canvas& canvas, const Frame& frame, const SpeedupLine& line) {
  const auto first = std::ranges::find_if(line.points, &SpeedupPoint::communication_bound);
  if (first == line.points.end()) return;
  const double x = frame.x.at(first->ranks);
  canvas.line({x, frame.y.from}, {x, frame.y.to}, "dash");
  const bool right = x < (frame.x.from + frame.x.to) / 2;
  canvas.text({x + (right ? 5 : -5), frame.y.from - 8}, "communication takes over",
              right ? Anchor::start : Anchor::end, "soft");
}

void append_numbers(Table& table, const std::string& setting, const SpeedupPoint& point,
                    const char* how) {
  const bool known = point.low && point.high;
  table.rows.push_back(
      {{setting},
       {std::to_string(point.ranks)},
       {how},
       {significant(point.speedup, 3)},
       {known ? from_to(significant(*point.low, 3), significant(*point.high, 3)) : "–"},
       {percent(point.speedup / point.ranks)}});
}

Table numbers_of(Lines lines) {
  Table table{"Speed-up over one rank",
              {{"setting", Align::left},
               {"ranks"},
               {"", Align::left},
               {"speed-up"},
               {"interval"},
               {"efficiency"}},
              {},
              {"intervals: 90 % of what is predicted, 95 % of what was measured"}};
  table.columns[2].heading = "how";
  for (const SpeedupLine& line : lines) {
    const std::string setting = line.name.empty() ? "all" : line.name;
    for (const SpeedupPoint& point : line.points) {
      append_numbers(table, setting, point, "predicted");
    }
    for (const SpeedupPoint& point : line.measured) {
      append_numbers(table, setting, point, "measured");
    }
  }
  return table;
}

/// A tick for each number of ranks, or round ones where there are many.
std::vector<Tick> rank_ticks(Lines lines, const Scale& scale) {
  std::vector<int> ranks;
  for (const SpeedupLine& line : lines) {
    for (const SpeedupPoint& point : line.points) ranks.push_back(point.ranks);
  }
  constexpr std::size_t most_ticks = 24;
  std::vector<Tick> ticks = count_ticks(ranks);
  return ticks.size() > most_ticks ? decade_ticks(scale) : ticks;
}

}  // namespace

std::optional<Figure> speedup_lines(Lines lines) {
  const std::vector<SpeedupLine> shown = drawable(lines.first(std::min(lines.size(), most_lines)));
  const auto is_short = [](const SpeedupLine& line) { return line.points.size() < 2; };
  if (shown.empty() || std::ranges::any_of(shown, is_short)) return {};
  Canvas canvas(figure_width, 350);
  const Frame frame = frame_of(shown);
  draw_axes(canvas, frame, rank_ticks(shown, frame.x), decade_ticks(frame.y), "ranks",
            "speed-up (higher is better)");
  draw_takeover(canvas, frame, shown.front());
  const double from = std::max(frame.x.low, frame.y.low);
  canvas.line({frame.x.at(from), frame.y.at(from)}, {frame.x.to, frame.y.at(frame.x.high)}, "dash");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    draw_line(canvas, frame, shown[i], i);
    draw_measured(canvas, frame, shown[i], i);
  }
  draw_names(canvas, frame, shown);
  const bool measured =
      std::ranges::any_of(shown, [](const SpeedupLine& line) { return !line.measured.empty(); });
  std::string title =
      fmt::format("Predicted speed-up over one rank, its 90 % interval{}, and the ideal",
                  measured ? ", what was measured (rings)" : "");
  if (shown.size() < lines.size()) {
    title += fmt::format(" ({} more settings are not drawn)", lines.size() - shown.size());
  }
  const std::string alt =
      "Speed-up against ranks, both axes logarithmic, with the interval of what is predicted as a "
      "band. The table of numbers says the same.";
  return Figure{"speedup", title, alt, canvas.svg(title, alt), "speedup.svg", numbers_of(lines)};
}

}  // namespace dlscale::report::figure
