#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/sections/quality.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

/// How a column did against the fastest of each row that it has a time in.
struct Standing {
  std::string column;
  long long rows = 0;
  long long fastest = 0;
  double log_ratio = 0;  ///< sum over the rows of the logarithm of time / fastest time

  [[nodiscard]] double ratio() const { return std::exp(log_ratio / static_cast<double>(rows)); }
};

Seconds least_of(const SideBySide::Row& row) {
  std::optional<Seconds> least;
  for (const auto& time : row.times) {
    if (time && (!least || *time < *least)) least = time;
  }
  return *least;  // each row has two times at least
}

/// The length of a source's name that all columns begin with: "A · ".
std::size_t shared_source(const std::vector<std::string>& columns) {
  const std::string& first = columns.front();
  const std::size_t end = first.find(" · ");
  if (end == std::string::npos) return 0;
  const std::string source = first.substr(0, end + std::string_view(" · ").size());
  const bool all = std::ranges::all_of(
      columns, [&source](const std::string& each) { return each.starts_with(source); });
  return all ? source.size() : 0;
}

/// The standings of all columns, the fastest first by the geometric mean of its ratios.
std::vector<Standing> standings_of(const SideBySide& all) {
  std::vector<Standing> standings;
  const std::size_t shared = shared_source(all.columns);
  for (std::size_t i = 0; i < all.columns.size(); ++i) {
    Standing standing{all.columns[i].substr(shared)};
    for (const SideBySide::Row& row : all.rows) {
      if (!row.times[i]) continue;
      const double ratio = *row.times[i] / least_of(row);
      ++standing.rows;
      standing.fastest += ratio == 1 ? 1 : 0;
      standing.log_ratio += std::log(ratio);
    }
    standings.push_back(std::move(standing));
  }
  std::ranges::stable_sort(standings, {}, &Standing::ratio);
  return standings;
}

std::string ratio_text(const Standing& standing) {
  return significant(standing.ratio(), 3) + " ×";
}

Table standings_table(const std::vector<Standing>& standings) {
  Table table{"Columns, the fastest first",
              {{"column", Align::left}, {"time against the fastest"}, {"fastest at"}, {"of"}},
              {},
              {"geometric mean over the measurements that a column has; less is better"}};
  for (const Standing& one : standings) {
    table.rows.push_back({{one.column},
                          {ratio_text(one)},
                          {std::to_string(one.fastest)},
                          {std::to_string(one.rows)}});
  }
  return table;
}

std::optional<Figure> standings_figure(const std::vector<Standing>& standings) {
  figure::StackedBars bars{"standings", "Time against the fastest of each measurement, by column",
                           "time against the fastest, × (more is worse)", ""};
  bars.unit = "×";
  bars.factor = 1;
  for (const Standing& one : standings) {
    bars.bars.push_back({fmt::format("{} rows", one.rows),
                         one.column,
                         {{"time against the fastest", one.ratio()}}});
  }
  return figure::stacked_bars(bars);
}

std::string verdict_of(const std::vector<Standing>& standings, std::size_t rows) {
  const Standing& best = standings.front();
  std::string text =
      fmt::format("{} is the fastest: at {} of {}, and {} the least time on average", best.column,
                  best.fastest, counted(best.rows, "measurement"), ratio_text(best));
  if (best.rows < static_cast<long long>(rows)) {
    text += fmt::format("; it lacks the others of {}",
                        counted(static_cast<long long>(rows), "measurement"));
  }
  return text + ".";
}

}  // namespace

Page side_by_side_page(const ReportInput& input) {
  const std::vector<Standing> standings = standings_of(input.side_by_side);
  Page page;
  page.kind = "side by side";
  page.question = "Which is fastest, side by side?";
  page.verdict = verdict_of(standings, input.side_by_side.rows.size());
  for (const Standing& one : standings) {
    if (page.tiles.size() == 5) break;
    page.tiles.push_back({one.column, ratio_text(one),
                          fmt::format("the least time; fastest at {} of {}", one.fastest, one.rows),
                          Tone::plain});
  }
  page.data = quality_badge(input);
  page.data_section = "quality";
  if (auto figure = standings_figure(standings)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {{"standings", "Columns, the fastest first", {standings_table(standings)}},
                   side_by_side_section(input),
                   steps_section(input),
                   quality_section(input),
                   files_section(input),
                   raw_section(input)};
  return page;
}

}  // namespace dlscale::report
