#include "report/comparison/ranking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
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

const ComparedTime& time_at(const SideBySide& all, std::size_t row, std::size_t column) {
  return *all.rows[row].times[column];
}

/// Geometric mean of a column's times in s, or of one end of their intervals; absent if one has
/// none.
std::optional<double> mean_of(const SideBySide& all, const Block& block, std::size_t column,
                              std::optional<Seconds> (*part)(const ComparedTime&)) {
  double sum = 0;
  for (const std::size_t row : block.rows) {
    const std::optional<Seconds> seconds = part(time_at(all, row, column));
    if (!seconds) return {};
    sum += std::log(seconds->si());
  }
  return std::exp(sum / static_cast<double>(block.rows.size()));
}

double mean_time(const SideBySide& all, const Block& block, std::size_t column) {
  return mean_of(all, block, column,
                 [](const ComparedTime& each) { return std::optional(each.time); })
      .value();
}

/// The column of the least geometric mean of times; the first of equals.
std::size_t fastest_column(const SideBySide& all, const Block& block) {
  return *std::ranges::min_element(
      block.columns, {}, [&](std::size_t column) { return mean_time(all, block, column); });
}

/// The ratios of a column row by row.
void count_rows(const SideBySide& all, const Block& block, std::size_t column, std::size_t fastest,
                Standing& standing) {
  std::vector<double> ratios;
  for (const std::size_t row : block.rows) {
    const Seconds time = time_at(all, row, column).time;
    ratios.push_back(time / time_at(all, row, fastest).time);
    if (ratios.back() < 1) ++standing.faster;
    const bool is_fastest = std::ranges::all_of(
        block.columns, [&](std::size_t other) { return time_at(all, row, other).time >= time; });
    if (is_fastest) ++standing.fastest;
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  standing.least = least;
  standing.most = most;
}

Standing standing_of(const SideBySide& all, const Block& block, std::size_t column,
                     std::size_t fastest) {
  const double unit = mean_time(all, block, fastest);
  Standing standing;
  standing.predicted = all.predicted[column];
  standing.ratio = mean_time(all, block, column) / unit;
  const auto low = mean_of(all, block, column, [](const ComparedTime& each) { return each.low; });
  const auto high = mean_of(all, block, column, [](const ComparedTime& each) { return each.high; });
  if (low && high) {
    standing.low = *low / unit;
    standing.high = *high / unit;
  }
  count_rows(all, block, column, fastest, standing);
  return standing;
}

/// Sorts the columns, and says which of them the intervals do not tell from the fastest.
void rank(std::vector<Standing>& columns) {
  std::ranges::stable_sort(columns, {}, &Standing::ratio);
  Standing& best = columns.front();
  for (Standing& each : columns) each.ties = each.low && best.high && *each.low <= *best.high;
  best.ties = true;
}

/// A column, and whether its times are predictions where those of others are not.
std::string name_in(const Ranking& ranking, const Standing& one) {
  const bool differ = std::ranges::count(ranking.ranked, !one.predicted, &Standing::predicted) > 0;
  return one.column + (!differ ? "" : one.predicted ? " (predicted)" : " (measured)");
}

bool is_predicted(const Ranking& ranking) {
  return std::ranges::all_of(ranking.ranked, &Standing::predicted);
}

bool is_measured(const Ranking& ranking) {
  return std::ranges::none_of(ranking.ranked, &Standing::predicted);
}

/// "over the 7 measurements that both have", "in the 1 prediction that these 3 columns have".
std::string extent_of(const Ranking& ranking) {
  const std::size_t columns = ranking.ranked.size();
  const std::string rows =
      counted(static_cast<long long>(ranking.compared), is_measured(ranking)    ? "measurement"
                                                        : is_predicted(ranking) ? "prediction"
                                                                                : "training");
  const std::string who = columns == 2               ? "both"
                          : ranking.unranked.empty() ? fmt::format("all {} columns", columns)
                                                     : fmt::format("these {} columns", columns);
  return fmt::format("{} the {} that {} have", ranking.compared == 1 ? "in" : "over", rows, who);
}

/// "; B is faster in 3 of them"; empty for a single row.
std::string exceptions_of(const Ranking& ranking, const Standing& next) {
  if (ranking.compared == 1) return "";
  return fmt::format("; {} is faster in {}", next.column,
                     next.faster == 0 ? "none" : fmt::format("{} of them", next.faster));
}

/// "1.23 × as fast as B (1.1 to 1.4 × by the 95 % intervals)".
std::string winner_text(const Ranking& ranking, const Standing& best, const Standing& next) {
  return fmt::format("{} × as fast as {} ({} to {} × by the {}s)", significant(next.ratio, 3),
                     name_in(ranking, next), significant(*next.low / *best.high, 3),
                     significant(*next.high / *best.low, 3), interval_name(ranking));
}

/// "A and B", "A, B and 3 more".
std::string tied_names(const Ranking& ranking) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> names;
  for (const Standing& one : ranking.ranked) {
    if (one.ties) names.push_back(name_in(ranking, one));
  }
  if (names.size() > most_named) {
    const std::string more = fmt::format("{} more", names.size() - most_named + 1);
    names.resize(most_named - 1);
    names.push_back(more);
  }
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::string tie_text(const Ranking& ranking, const Standing& best, const Standing& next) {
  const std::string opening =
      is_predicted(ranking)
          ? fmt::format("The predictions do not tell {} apart", tied_names(ranking))
          : tied_names(ranking) + " tie";
  return fmt::format("{}: their {}s overlap. {} takes {} × as long as {}{} ({} to {} ×) {}{}.",
                     opening, interval_name(ranking), next.column, significant(next.ratio, 3),
                     best.column, ranking.compared == 1 ? "" : " on average",
                     significant(*next.low / *best.high, 3), significant(*next.high / *best.low, 3),
                     extent_of(ranking), exceptions_of(ranking, next));
}

/// Without intervals the least time may be chance.
std::string unknown_text(const Ranking& ranking, const Standing& best, const Standing& next) {
  return fmt::format(
      "Not known which is fastest, since some of these times have no interval; {} has the least "
      "time{}. {} takes {} × as long {}{}.",
      name_in(ranking, best), ranking.compared == 1 ? "" : " on average", name_in(ranking, next),
      significant(next.ratio, 3), extent_of(ranking), exceptions_of(ranking, next));
}

/// The limits of the answer: how it averages, and columns without a rank.
std::string limits_text(const Ranking& ranking) {
  std::string text;
  if (ranking.compared > 1) text += " Averages are geometric means.";
  if (const std::size_t others = ranking.unranked.size(); others > 0) {
    text += fmt::format(" {} of {} columns {} too few of these times to be ranked.", others,
                        others + ranking.ranked.size(), others == 1 ? "has" : "have");
  }
  return text;
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
  rank(ranking.ranked);
  return ranking;
}

bool knows_fastest(const Ranking& ranking) {
  const auto is_open = [](const Standing& one) { return !one.low || !one.high; };
  return std::ranges::none_of(ranking.ranked, is_open) &&
         std::ranges::count(ranking.ranked, true, &Standing::ties) == 1;
}

std::string interval_name(const Ranking& ranking) {
  if (is_measured(ranking)) return "95 % interval";
  return is_predicted(ranking) ? "90 % interval" : "interval";
}

std::string ranking_verdict(const Ranking& ranking) {
  EXPECT(ranking.ranked.size() > 1);
  const Standing& best = ranking.ranked[0];
  const auto tied =
      std::ranges::find(ranking.ranked.begin() + 1, ranking.ranked.end(), true, &Standing::ties);
  if (tied != ranking.ranked.end()) {
    return tie_text(ranking, best, *tied) + limits_text(ranking);
  }
  const Standing& next = ranking.ranked[1];
  if (!knows_fastest(ranking)) return unknown_text(ranking, best, next) + limits_text(ranking);
  return fmt::format("{} is {}fastest{}: {} {}{}.{}", name_in(ranking, best),
                     is_predicted(ranking) ? "predicted to be " : "",
                     ranking.compared == 1 ? "" : " on average", winner_text(ranking, best, next),
                     extent_of(ranking), exceptions_of(ranking, next), limits_text(ranking));
}

}  // namespace dlscale::report
