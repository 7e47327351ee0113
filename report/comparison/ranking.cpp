#include "report/comparison/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::report {
namespace {

using Indices = std::vector<std::size_t>;

/// Columns, and the rows in which all of them have a time.
struct Block {
  Indices columns;
  Indices rows;
  [[nodiscard]] std::size_t times() const { return columns.size() * rows.size(); }
};

Indices all_rows(const SideBySide& all) {
  Indices rows(all.rows.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Indices rows_with(const SideBySide& all, std::size_t column, const Indices& among) {
  Indices rows;
  std::ranges::copy_if(among, std::back_inserter(rows),
                       [&](std::size_t row) { return all.rows[row].times[column].has_value(); });
  return rows;
}

/// Adds the column that keeps most rows, and returns whether a row is left.
bool grow(const SideBySide& all, Block& block) {
  Block next;
  std::size_t added = 0;
  for (std::size_t column = 0; column < all.columns.size(); ++column) {
    if (std::ranges::count(block.columns, column) > 0) continue;
    Indices rows = rows_with(all, column, block.rows);
    if (rows.size() <= next.rows.size()) continue;
    next.rows = std::move(rows);
    added = column;
  }
  if (next.rows.empty()) return false;
  block.columns.push_back(added);
  block.rows = std::move(next.rows);
  return true;
}

Block largest_block(const SideBySide& all) {
  Block block{{}, all_rows(all)};
  if (!grow(all, block)) return {};
  Block largest;
  while (grow(all, block)) {
    if (block.times() >= largest.times()) largest = block;
  }
  std::ranges::sort(largest.columns);
  return largest;
}

/// The length of a source's name that all columns begin with: "A · ".
std::size_t shared_source(const std::vector<std::string>& columns) {
  constexpr std::string_view separator = " · ";
  const std::string& first = columns.front();
  const std::size_t end = first.find(separator);
  if (end == std::string::npos) return 0;
  const std::string source = first.substr(0, end + separator.size());
  const bool all = std::ranges::all_of(
      columns, [&source](const std::string& each) { return each.starts_with(source); });
  return all ? source.size() : 0;
}

Seconds time_at(const SideBySide& all, std::size_t row, std::size_t column) {
  return *all.rows[row].times[column];
}

/// The column of the least geometric mean of times; the first of equals.
std::size_t fastest_column(const SideBySide& all, const Block& block) {
  const auto mean = [&](std::size_t column) {
    double sum = 0;
    for (const std::size_t row : block.rows) sum += std::log(time_at(all, row, column).si());
    return sum;
  };
  return *std::ranges::min_element(block.columns, {}, mean);
}

Standing standing_of(const SideBySide& all, const Block& block, std::size_t column,
                     std::size_t fastest) {
  std::vector<double> ratios;
  double logarithms = 0;
  Standing standing;
  for (const std::size_t row : block.rows) {
    ratios.push_back(time_at(all, row, column) / time_at(all, row, fastest));
    logarithms += std::log(ratios.back());
    const bool is_fastest = std::ranges::all_of(block.columns, [&](std::size_t other) {
      return time_at(all, row, other) >= time_at(all, row, column);
    });
    if (is_fastest) ++standing.fastest;
  }
  standing.ratio = std::exp(logarithms / static_cast<double>(ratios.size()));
  const auto [least, most] = std::ranges::minmax(ratios);
  standing.least = least;
  standing.most = most;
  return standing;
}

std::string measurements(std::size_t count) {
  return counted(static_cast<long long>(count), "measurement");
}

/// "over 7 of 9 measurements, which 3 of 4 columns have".
std::string extent_of(const Ranking& ranking) {
  const std::size_t columns = ranking.ranked.size() + ranking.unranked.size();
  const std::string compared =
      ranking.compared == ranking.rows
          ? measurements(ranking.rows)
          : fmt::format("{} of {}", ranking.compared, measurements(ranking.rows));
  const std::string of = ranking.unranked.empty()
                             ? fmt::format("{} columns", columns)
                             : fmt::format("{} of {} columns", ranking.ranked.size(), columns);
  return fmt::format("over {}, which {} have", compared, of);
}

}  // namespace

Ranking ranking_of(const SideBySide& all) {
  Ranking ranking;
  ranking.rows = all.rows.size();
  if (all.rows.empty()) return ranking;
  const Block block = largest_block(all);
  ranking.compared = block.rows.size();
  const std::size_t fastest = fastest_column(all, block);
  const std::size_t shared = shared_source(all.columns);
  const Indices every = all_rows(all);
  for (std::size_t column = 0; column < all.columns.size(); ++column) {
    const std::string name = all.columns[column].substr(shared);
    if (std::ranges::count(block.columns, column) == 0) {
      ranking.unranked.push_back(
          {name, rows_with(all, column, every).size(), rows_with(all, column, block.rows).size()});
      continue;
    }
    ranking.ranked.push_back(standing_of(all, block, column, fastest));
    ranking.ranked.back().column = name;
  }
  std::ranges::stable_sort(ranking.ranked, {}, &Standing::ratio);
  return ranking;
}

std::string ranking_verdict(const Ranking& ranking) {
  EXPECT(ranking.ranked.size() > 1);
  const Standing& best = ranking.ranked[0];
  const Standing& next = ranking.ranked[1];
  const bool everywhere = best.fastest == ranking.compared;
  const std::string range =
      ranking.compared == 1 ? ""
                            : fmt::format(" ({} to {} × by measurement)",
                                          significant(next.least, 3), significant(next.most, 3));
  return fmt::format("{} is the fastest {}, {}: {} takes {} × its time{}.", best.column,
                     everywhere ? "everywhere" : fmt::format("on average, and at {}", best.fastest),
                     extent_of(ranking), next.column, significant(next.ratio, 3), range);
}

}  // namespace dlscale::report
