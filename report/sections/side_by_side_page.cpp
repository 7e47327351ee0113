#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/comparison/ranking.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/sections/quality.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

std::string times_text(double ratio) {
  return significant(ratio, 3) + " ×";
}

/// "0.94 to 2.10 ×" of the rows; empty for a single one.
std::string range_text(const Standing& one, const Ranking& ranking) {
  if (ranking.compared == 1) return "";
  return fmt::format("{} to {}", significant(one.least, 3), times_text(one.most));
}

/// "0.94 to 1.07 ×"; "–" without an interval.
std::string standing_interval(const Standing& one) {
  if (!one.low || !one.high) return "–";
  return fmt::format("{} to {}", significant(*one.low, 3), times_text(*one.high));
}

/// "; 95 % interval 0.94 to 1.07 ×"; empty for the fastest, which the others are held against.
std::string interval_clause(const Standing& one, const Ranking& ranking) {
  if (&one == &ranking.ranked.front()) return "";
  if (!one.low) return "; no interval";
  return fmt::format("; {} {}", interval_name(ranking), standing_interval(one));
}

std::string basis_text(const Standing& one) {
  return one.predicted ? "predicted" : "measured";
}

/// The answer about one column: "fastest", "slower", or that it may be chance.
std::string place_text(const Standing& one, const Ranking& ranking) {
  const auto tied = std::ranges::count(ranking.ranked, true, &Standing::ties);
  if (!one.ties) {
    return one.low ? "slower" : "slower, maybe by chance";
  }
  if (tied > 1) return "not told apart";
  return knows_fastest(ranking) ? "fastest" : "least time, maybe by chance";
}

Table ranked_table(const Ranking& ranking) {
  Table table{
      "Columns, the fastest first",
      {{"column", Align::left},
       {"basis", Align::left},
       {"", Align::left},
       {"time against the fastest"},
       {""},
       {"least to most"},
       {"fastest in"},
       {"of"}},
      {},
      {"Times are geometric means over what all these columns have; less is better.",
       "A column is not told apart from the fastest where the interval includes 1."}};
  table.columns[2].heading = "verdict";
  table.columns[4].heading = interval_name(ranking);
  if (std::ranges::count(ranking.ranked, false, &Standing::predicted) > 2) {
    table.notes.emplace_back("Intervals of measured columns allow for the number of columns.");
  }
  for (const Standing& one : ranking.ranked) {
    table.rows.push_back({{one.column},
                          {basis_text(one)},
                          {place_text(one, ranking)},
                          {times_text(one.ratio)},
                          {standing_interval(one)},
                          {range_text(one, ranking)},
                          {std::to_string(one.fastest)},
                          {std::to_string(ranking.compared)}});
  }
  return table;
}

/// Columns that were measured at other things than the ranked ones.
Table unranked_table(const Ranking& ranking) {
  Table table{"Columns without a rank",
              {{"column", Align::left}, {"measurements"}, {"compared ones among them"}},
              {},
              {fmt::format("They lack some of the {} that the others were compared by.",
                           counted(static_cast<long long>(ranking.compared), "measurement"))}};
  for (const Unranked& one : ranking.unranked) {
    table.rows.push_back({{one.column}, {std::to_string(one.rows)}, {std::to_string(one.shared)}});
  }
  return table;
}

std::optional<Figure> ranking_figure(const Ranking& ranking) {
  figure::StackedBars bars{"standings",
                           "Time against the fastest column, and where a column is fastest",
                           "geometric mean of times against the fastest, × (lower is better)",
                           has_intervals(ranking) ? interval_name(ranking) : ""};
  bars.unit = "×";
  bars.factor = 1;
  for (const Standing& one : ranking.ranked) {
    figure::StackedBar bar{fmt::format("{} of {}", one.fastest, ranking.compared),
                           fmt::format("{}, {}", one.column, basis_text(one))};
    bar.parts = {{"time against the fastest", one.ratio}};
    bar.low = one.low;
    bar.high = one.high;
    bars.bars.push_back(std::move(bar));
  }
  return figure::stacked_bars(bars);
}

std::vector<Tile> ranking_tiles(const Ranking& ranking) {
  std::vector<Tile> tiles;
  for (const Standing& one : ranking.ranked) {
    if (tiles.size() == 4) break;
    tiles.push_back({one.column, times_text(one.ratio),
                     fmt::format("{}{}; fastest in {} of {}", basis_text(one),
                                 interval_clause(one, ranking), one.fastest, ranking.compared),
                     Tone::plain});
  }
  const std::size_t columns = ranking.ranked.size() + ranking.unranked.size();
  tiles.push_back({ranking.of_trainings ? "Trainings compared" : "Times compared",
                   fmt::format("{} of {}", ranking.compared, ranking.rows),
                   fmt::format("{} of {} columns have them", ranking.ranked.size(), columns),
                   ranking.unranked.empty() ? Tone::plain : Tone::caution});
  return tiles;
}

Section ranking_section(const Ranking& ranking) {
  Section section{"standings", "Columns, the fastest first", {ranked_table(ranking)}};
  if (!ranking.unranked.empty()) section.blocks.emplace_back(unranked_table(ranking));
  return section;
}

/// "Which is fastest: A or B?"; "Which setting of A is fastest?" for one source.
std::string ranking_question(const std::vector<std::string>& columns) {
  std::vector<std::string> sources;
  for (const std::string& column : columns) {
    const std::string source = column.substr(0, column.find(" · "));
    if (std::ranges::find(sources, source) == sources.end()) sources.push_back(source);
  }
  if (sources.size() == 1) return fmt::format("Which setting of {} is fastest?", sources.front());
  const std::string last = std::move(sources.back());
  sources.pop_back();
  return fmt::format("Which is fastest: {} or {}?", fmt::join(sources, ", "), last);
}

}  // namespace

Page side_by_side_page(const ReportInput& input) {
  const Ranking ranking = ranking_of(input.side_by_side);
  Page page;
  page.kind = "side by side";
  page.question = ranking_question(input.side_by_side.columns);
  page.verdict = ranking_verdict(ranking);
  page.tiles = ranking_tiles(ranking);
  if (auto figure = ranking_figure(ranking)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {ranking_section(ranking), side_by_side_section(input)};
  if (input.results.empty()) return page;  // predictions alone have no data to judge
  page.data = quality_badge(input);
  page.data_section = "quality";
  for (Section& section : std::array{steps_section(input), quality_section(input),
                                     files_section(input), raw_section(input)}) {
    page.sections.push_back(std::move(section));
  }
  return page;
}

}  // namespace dlscale::report
