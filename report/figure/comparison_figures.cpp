#include "report/figure/comparison_figures.hpp"

#include <algorithm>
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

constexpr std::size_t most_forest_rows = 60;
constexpr std::size_t longest_name = 40;  ///< of a metric, in characters
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
  canvas.text({x.from - 8, y + 4}, cut_to_width(row.name, longest_name), Anchor::end);
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

}  // namespace

std::optional<Figure> forest(std::span<const ForestRow> rows, double margin,
                             std::string_view interval, std::string_view measured) {
  if (rows.empty()) return {};
  std::vector<ForestRow> shown(rows.begin(), rows.end());
  std::ranges::stable_sort(shown, std::greater{},
                           [](const ForestRow& row) { return std::abs(std::log(row.ratio)); });
  if (shown.size() > most_forest_rows) shown.resize(most_forest_rows);
  double least = as_percent(1 / (1 + margin));
  double most = as_percent(1 + margin);
  std::size_t widest = 0;
  for (const ForestRow& row : shown) {
    widest = std::max(widest, std::min(display_width(row.name), longest_name));
    least = std::min({least, as_percent(row.ratio), as_percent(row.low.value_or(row.ratio))});
    most = std::max({most, as_percent(row.ratio), as_percent(row.high.value_or(row.ratio))});
  }
  const double height = 20.0 * static_cast<double>(shown.size()) + 60;
  Canvas canvas(figure_width, height);
  const double room = (most - least) * 0.05;
  const double left = 16 + 7.2 * static_cast<double>(widest);
  const Frame frame = frame_in({left, 6, figure_width - left - 104, height - 52},
                               {least - room, most + room}, {0, 1});
  draw_band(canvas, frame, margin);
  draw_axes(canvas, frame, change_ticks(frame.x), {},
            measured.empty() ? std::string(axis_name)
                             : fmt::format("change in {} (+ = worse)", measured),
            "");
  canvas.line({frame.x.at(0), frame.y.from}, {frame.x.at(0), frame.y.to}, "dash");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    draw_forest_row(canvas, frame.x, shown[i], 18 + 20.0 * static_cast<double>(i));
  }
  const auto is_open = [](const ForestRow& row) { return row.verdict == "inconclusive"; };
  const bool has_open = !measured.empty() && std::ranges::any_of(rows, is_open);
  std::string title = fmt::format(
      "Change of each metric (dot) with its {} (line); changes in the shaded band, up to {}, do "
      "not matter{}",
      interval, percent(margin),
      has_open ? "; inconclusive: the line reaches it, or chance is not excluded" : "");
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

}  // namespace dlscale::report::figure
