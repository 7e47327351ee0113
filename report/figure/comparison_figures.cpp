#include "report/figure/comparison_figures.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report::figure {
namespace {

using regression::ChangePoint;
using regression::ChangePoints;
using regression::history_shape_name;
using regression::HistorySegment;

constexpr std::size_t most_forest_rows = 60;
constexpr double left_of_forest = 304;  ///< names of metrics, px
constexpr std::string_view axis_name = "change (+ = worse)";

/// Ticks of ratios as signed percentages.
std::vector<Tick> change_ticks(const Scale& percents) {
  std::vector<Tick> ticks = linear_ticks(percents);
  for (Tick& tick : ticks) tick.text = fmt::format("{:+g} %", tick.value);
  return ticks;
}

double as_percent(double ratio) {
  return 100 * (ratio - 1);
}

void draw_band(Canvas& canvas, const Frame& frame, double margin) {
  const double from = frame.x.at(as_percent(1 / (1 + margin)));
  const double to = frame.x.at(as_percent(1 + margin));
  canvas.rect({from, frame.y.to, to - from, frame.y.from - frame.y.to}, "band");
}

std::string_view colour_of(const ForestRow& row) {
  if (row.worse) return "c1";
  return row.better ? "c0" : "c3";
}

void draw_forest_row(Canvas& canvas, const Scale& x, const ForestRow& row, double y) {
  canvas.text({left_of_forest - 8, y + 4}, cut_to_width(row.name, 40), Anchor::end);
  const double low = row.low ? x.at(as_percent(*row.low)) : x.from;
  const double high = row.high ? x.at(as_percent(*row.high)) : x.to;
  canvas.line({low, y}, {high, y}, "axis");
  for (const auto& [bound, at] : {std::pair{row.low, low}, std::pair{row.high, high}}) {
    if (bound) canvas.line({at, y - 4}, {at, y + 4}, "axis");
  }
  canvas.circle({x.at(as_percent(row.ratio)), y}, 4.5, colour_of(row),
                fmt::format("{}: {}, {}", row.name, signed_percent(row.ratio - 1), row.verdict));
  canvas.text({x.to + 8, y + 4}, row.verdict, Anchor::start, "soft");
}

Table forest_numbers(std::span<const ForestRow> rows) {
  Table table{"Change of each metric",
              {{"metric", Align::left}, {std::string(axis_name)}, {"interval"}, {"", Align::left}},
              {},
              {}};
  table.columns.back().heading = "verdict";
  for (const ForestRow& row : rows) {
    table.rows.push_back({{row.name},
                          {signed_percent(row.ratio - 1)},
                          {changes_from_to(row.low, row.high)},
                          {row.verdict}});
  }
  return table;
}

/// At most about 20 numbers of rounds.
std::vector<Tick> round_ticks(std::size_t rounds) {
  const std::size_t step = rounds / 20 + 1;
  std::vector<Tick> ticks;
  for (std::size_t round = 1; round <= rounds; round += step) {
    ticks.push_back({static_cast<double>(round), std::to_string(round)});
  }
  return ticks;
}

Table round_numbers(const std::vector<const PairedRow*>& rows) {
  Table table{"Change of each round",
              {{"metric", Align::left}, {"round"}, {std::string(axis_name)}},
              {},
              {}};
  for (const PairedRow* row : rows) {
    for (std::size_t round = 0; round < row->ratios.size(); ++round) {
      table.rows.push_back(
          {{row->name}, {std::to_string(round + 1)}, {signed_percent(row->ratios[round] - 1)}});
    }
  }
  return table;
}

constexpr double strip = 138;
constexpr std::size_t most_points = 100;
/// Characters of bold text that fit the width of a strip.
constexpr std::size_t longest_heading = 64;

bool usable(double value) {
  return std::isfinite(value) && value > 0;
}

bool is_drawn(const std::optional<double>& reported) {
  return reported && usable(*reported);
}

/// First of the last points of a strip, which are drawn.
std::size_t first_point(const StripRow& row) {
  return row.values.size() > most_points ? row.values.size() - most_points : 0;
}

/// The commit of a point.
std::string label_of(const StripRow& row, std::size_t at) {
  return at < row.labels.size() ? row.labels[at] : fmt::format("point {}", at);
}

/// The beginning of a hash, or of another name of a commit; dates behind it are left out.
std::string short_label(std::string label) {
  constexpr std::size_t letters = 9;
  label = label.substr(0, label.find_first_of(", "));
  const bool is_hash = std::ranges::all_of(
      label, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  return is_hash ? label.substr(0, letters) : cut_to_width(label, letters + 3);
}

/// Draws the levels, and where one changed by how much at which commit.
void draw_levels(Canvas& canvas, const Frame& frame, const StripRow& row, double first) {
  const ChangePoints& found = row.found;
  for (const HistorySegment& segment : found.segments) {
    const double from = std::max(first, static_cast<double>(segment.first));
    const auto to = static_cast<double>(segment.last);
    if (to < first) continue;
    const double y = frame.y.at(segment.level);
    canvas.line({frame.x.at(from - 0.4), y}, {frame.x.at(to + 0.4), y}, "s0 wide");
    canvas.text({frame.x.at(to + 0.4), y - 4}, significant(segment.level, 4), Anchor::end, "soft");
  }
  std::vector<std::string> texts;
  std::vector<double> wanted;
  std::vector<double> widths;
  for (const ChangePoint& change : found.changes) {
    const double middle = static_cast<double>(change.before + change.after) / 2;
    if (middle < first) continue;
    const double x = frame.x.at(middle);
    canvas.line({x, frame.y.from}, {x, frame.y.to}, "dash");
    const std::string commit =
        row.labels.empty() ? "" : " at " + short_label(label_of(row, change.after));
    texts.push_back(signed_percent(change.ratio - 1) + commit);
    widths.push_back(glyph * static_cast<double>(display_width(texts.back())));
    wanted.push_back(x - widths.back() / 2);
  }
  const std::vector<double> places = spread(wanted, widths, 80, figure_width - 4, 10);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    canvas.text({places[i], frame.y.to - 4}, texts[i]);
  }
}

void draw_points(Canvas& canvas, const Frame& frame, const StripRow& row, std::size_t first) {
  for (std::size_t i = first; i < row.values.size(); ++i) {
    if (!usable(row.values[i])) continue;
    canvas.circle(
        {frame.x.at(static_cast<double>(i)), frame.y.at(row.values[i])}, 2.5, "c3",
        fmt::format("{}: {} {}", label_of(row, i), significant(row.values[i], 4), row.unit));
  }
}

/// Draws the line of a note: for worse with a full triangle upwards, for better with an empty one
/// downwards.
void draw_note_line(Canvas& canvas, const Frame& frame, const StripNote& note, double x) {
  constexpr double size = 4;
  const double top = frame.y.to;
  if (note.kind == StripNote::Kind::other) {
    canvas.line({x, frame.y.from}, {x, top}, "s3");
    return;
  }
  const bool is_worse = note.kind == StripNote::Kind::worse;
  const double tip = is_worse ? top : top + 2 * size;
  const double base = is_worse ? top + 2 * size : top;
  canvas.line({x, frame.y.from}, {x, top + 2 * size}, is_worse ? "s1" : "s0");
  canvas.area(std::array{Point{x - size, base}, Point{x, tip}, Point{x + size, base}},
              is_worse ? "c1" : "hollow s0");
}

/// Draws notes between their point and the one before; puts labels of one place side by side. A
/// label without room to the right stands to the left.
void draw_notes(Canvas& canvas, const Frame& frame, const StripRow& row, std::size_t first) {
  std::size_t before = row.values.size();
  double shift = 0;
  for (const StripNote& note : row.notes) {
    if (note.at < first || note.at >= row.values.size()) continue;
    const double x = frame.x.at(static_cast<double>(note.at) - 0.5);
    const double width = 9.0 * static_cast<double>(note.label.size());
    if (note.at != before) shift = 0;
    before = note.at;
    draw_note_line(canvas, frame, note, x);
    const bool has_room = x + shift + width < figure_width;
    canvas.text({has_room ? x + 3 + shift : x - 3 - shift, frame.y.from - 3}, note.label,
                has_room ? Anchor::start : Anchor::end, "bold", note.text);
    shift += width;
  }
}

/// Draws the reported value, if the history lacks it, as a ring after the last point.
void draw_reported(Canvas& canvas, const Frame& frame, const StripRow& row) {
  if (!is_drawn(row.reported)) return;
  const auto after = static_cast<double>(row.values.size());
  canvas.circle({frame.x.at(after), frame.y.at(*row.reported)}, 4, "hollow s1",
                fmt::format("reported here, not in the history: {} {}",
                            significant(*row.reported, 4), row.unit));
}

/// "metric (ms, smaller is better), changed", with the name shortened to fit.
std::string heading(const StripRow& row) {
  const std::string remark = row.remark.empty() ? "" : ", " + row.remark;
  const std::string rest =
      fmt::format(" ({}{}), {}", row.unit, remark, history_shape_name(row.found.shape));
  const std::size_t room = longest_heading - std::min(rest.size(), longest_heading / 2);
  return cut_to_width(row.name, room) + rest;
}

void draw_strip(Canvas& canvas, const StripRow& row, double top, bool last) {
  const std::size_t first = first_point(row);
  double least = HUGE_VAL;
  double most = 0;
  const auto consider = [&](double value) {
    if (!usable(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  };
  std::for_each(row.values.begin() + static_cast<std::ptrdiff_t>(first), row.values.end(),
                consider);
  if (row.reported) consider(*row.reported);
  canvas.text({80, top + 12}, heading(row), Anchor::start, "bold", row.name);
  const double room = (most - least) * 0.35;  // for texts above and below the points
  const Frame frame =
      frame_in({80, top + 34, figure_width - 100, strip - 60},
               {static_cast<double>(first) - 1,
                static_cast<double>(row.values.size() + (is_drawn(row.reported) ? 1 : 0))},
               {least - room, most + room});
  draw_axes(canvas, frame, {}, linear_ticks(frame.y), last ? "commits, the oldest first" : "", "");
  draw_levels(canvas, frame, row, static_cast<double>(first));
  draw_points(canvas, frame, row, first);
  draw_notes(canvas, frame, row, first);
  draw_reported(canvas, frame, row);
}

/// The segments of all rows, which their lines show.
Table level_numbers(std::span<const StripRow> rows) {
  Table table{"Levels of the strips: the median of each segment",
              {{"strip", Align::left},
               {"from", Align::left},
               {"to", Align::left},
               {"commits"},
               {"level"},
               {"change"}},
              {},
              {}};
  for (const StripRow& row : rows) {
    const auto label = [&row](std::size_t at) { return label_of(row, at); };
    if (row.found.segments.empty()) {
      table.rows.push_back({{row.name}, {}, {}, {std::to_string(row.values.size())}, {"–"}, {}});
    }
    for (const HistorySegment& segment : row.found.segments) {
      const auto change = std::ranges::find(row.found.changes, segment.first, &ChangePoint::after);
      table.rows.push_back(
          {{row.name},
           {label(segment.first)},
           {label(segment.last)},
           {std::to_string(segment.points)},
           {fmt::format("{} {}", significant(segment.level, 4), row.unit)},
           {change == row.found.changes.end() ? "" : signed_percent(change->ratio - 1)}});
    }
  }
  return table;
}

}  // namespace

std::optional<Figure> forest(std::span<const ForestRow> rows, double margin) {
  if (rows.empty()) return {};
  std::vector<ForestRow> shown(rows.begin(), rows.end());
  std::ranges::stable_sort(shown, std::greater{},
                           [](const ForestRow& row) { return std::abs(std::log(row.ratio)); });
  if (shown.size() > most_forest_rows) shown.resize(most_forest_rows);
  double least = as_percent(1 / (1 + margin));
  double most = as_percent(1 + margin);
  for (const ForestRow& row : shown) {
    least = std::min({least, as_percent(row.ratio), as_percent(row.low.value_or(row.ratio))});
    most = std::max({most, as_percent(row.ratio), as_percent(row.high.value_or(row.ratio))});
  }
  const double height = 20.0 * static_cast<double>(shown.size()) + 60;
  Canvas canvas(figure_width, height);
  const double room = (most - least) * 0.05;
  const Frame frame =
      frame_in({left_of_forest, 6, figure_width - left_of_forest - 104, height - 52},
               {least - room, most + room}, {0, 1});
  draw_band(canvas, frame, margin);
  draw_axes(canvas, frame, change_ticks(frame.x), {}, axis_name, "");
  canvas.line({frame.x.at(0), frame.y.from}, {frame.x.at(0), frame.y.to}, "dash");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    draw_forest_row(canvas, frame.x, shown[i], 18 + 20.0 * static_cast<double>(i));
  }
  std::string title = fmt::format(
      "Change of each metric with its interval; changes in the shaded band, up to {}, do not "
      "matter",
      percent(margin));
  if (shown.size() < rows.size()) {
    title += fmt::format(" ({} smaller changes are not drawn)", rows.size() - shown.size());
  }
  const std::string alt = fmt::format(
      "Forest plot of {}: the estimated change in percent, + is worse, and its interval. The table "
      "of metrics has the numbers.",
      counted(static_cast<long long>(shown.size()), "metric"));
  return Figure{"forest", title, alt, canvas.svg(title, alt), "forest.svg", forest_numbers(rows)};
}

std::optional<Figure> paired(std::span<const PairedRow> rows, double margin) {
  std::vector<const PairedRow*> shown;
  for (const PairedRow& row : rows) {
    if (row.ratios.size() > 1 && shown.size() < most_panels) shown.push_back(&row);
  }
  if (shown.empty()) return {};
  constexpr double panel = 150;
  Canvas canvas(figure_width, panel * static_cast<double>(shown.size()));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const PairedRow& row = *shown[i];
    double least = as_percent(1 / (1 + margin));
    double most = as_percent(1 + margin);
    for (const double ratio : row.ratios) {
      least = std::min(least, as_percent(ratio));
      most = std::max(most, as_percent(ratio));
    }
    const double top = panel * static_cast<double>(i);
    canvas.text({70, top + 12}, cut_to_width(row.name, 72), Anchor::start, "bold");
    const auto rounds = static_cast<double>(row.ratios.size());
    const Frame frame =
        frame_in({70, top + 20, figure_width - 90, panel - 66}, {0.5, rounds + 0.5}, {least, most});
    const double upper = frame.y.at(as_percent(1 + margin));
    canvas.rect({frame.x.from, upper, frame.x.to - frame.x.from,
                 frame.y.at(as_percent(1 / (1 + margin))) - upper},
                "band");
    draw_axes(canvas, frame, round_ticks(row.ratios.size()), change_ticks(frame.y), "round", "");
    canvas.line({frame.x.from, frame.y.at(0)}, {frame.x.to, frame.y.at(0)}, "dash");
    for (std::size_t round = 0; round < row.ratios.size(); ++round) {
      canvas.circle(
          {frame.x.at(static_cast<double>(round + 1)), frame.y.at(as_percent(row.ratios[round]))},
          3.5, row.ratios[round] > 1 ? "c1" : "c0",
          fmt::format("round {}: {}", round + 1, signed_percent(row.ratios[round] - 1)));
    }
  }
  std::string title = "Changed metrics round by round, in the order of time (+ = worse)";
  if (shown.size() < rows.size()) {
    title += fmt::format(" ({} more are not drawn)", rows.size() - shown.size());
  }
  const std::string alt =
      fmt::format("The change of each round in percent, + is worse, a panel for each of {}.",
                  counted(static_cast<long long>(shown.size()), "metric"));
  return Figure{"paired", title, alt, canvas.svg(title, alt), "paired.svg", round_numbers(shown)};
}

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
  Canvas canvas(figure_width, strip * static_cast<double>(shown.size()) + 20);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    draw_strip(canvas, *shown[i], strip * static_cast<double>(i), i + 1 == shown.size());
  }
  std::string title =
      "History: points, levels (lines) and where they changed; a full triangle marks what "
      "regressed, an empty one what improved";
  if (shown.size() < fit) title += fmt::format(" ({} more are not drawn)", fit - shown.size());
  const std::string alt = fmt::format(
      "The last {} commits at most of {} series, the level of each segment, a broken line where "
      "the level changed, with the change in percent, and marks of alerts, annotations and other "
      "machines. The tables of levels and marks say the same.",
      most_points, shown.size());
  return Figure{"history", title, alt, canvas.svg(title, alt), "history.svg", level_numbers(rows)};
}

}  // namespace dlscale::report::figure
