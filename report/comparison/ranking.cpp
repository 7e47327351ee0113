#include "report/comparison/ranking.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "report/comparison/ratio.hpp"

namespace dlscale::report {
namespace {

using Indices = std::vector<std::size_t>;

/// Columns, and the rows in which all of them have a time.
struct Block {
  Indices columns;
  Indices rows;
  [[nodiscard]] std::size_t times() const { return columns.size() * rows.size(); }
};

bool is_training(const SideBySide::Row& row) {
  return row.question.starts_with("e2e ");
}

/// Trainings if there are any, else all rows.
Indices rows_that_count(const SideBySide& all) {
  const bool of_trainings = std::ranges::any_of(all.rows, is_training);
  Indices rows;
  for (std::size_t row = 0; row < all.rows.size(); ++row) {
    if (!of_trainings || is_training(all.rows[row])) rows.push_back(row);
  }
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
  Block block{{}, rows_that_count(all)};
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

/// Geometric mean of a column's times, s.
double mean_time(const SideBySide& all, const Block& block, std::size_t column) {
  double sum = 0;
  for (const std::size_t row : block.rows) sum += std::log(time_at(all, row, column).time.si());
  return std::exp(sum / static_cast<double>(block.rows.size()));
}

/// Ends of an interval.
struct Bounds {
  double low = 1;
  double high = 1;
};

/// The geometric mean of a column's times in each launch of all rows, s. One process may time all
/// rows, so their errors may go together, and launches stand by their order. Launches that a row
/// lacks are left out. Empty if a time has no launches.
Repeats launches_of(const SideBySide& all, const Block& block, std::size_t column) {
  std::size_t launches = std::numeric_limits<std::size_t>::max();
  for (const std::size_t row : block.rows) {
    launches = std::min(launches, time_at(all, row, column).launches.size());
  }
  Repeats means;
  for (std::size_t launch = 0; launch < launches; ++launch) {
    double sum = 0;
    for (const std::size_t row : block.rows) {
      sum += std::log(median(time_at(all, row, column).launches[launch]));
    }
    means.push_back({std::exp(sum / static_cast<double>(block.rows.size()))});
  }
  return means;
}

/// Geometric means over all rows of the ends of their intervals; absent if one has none.
std::optional<Bounds> mean_bounds(const SideBySide& all, const Block& block, std::size_t column,
                                  std::size_t fastest) {
  const double power = 1 / static_cast<double>(block.rows.size());
  Bounds mean;
  for (const std::size_t row : block.rows) {
    const ComparedTime& time = time_at(all, row, column);
    const ComparedTime& other = time_at(all, row, fastest);
    if (!time.low || !time.high || !other.low || !other.high) return {};
    mean.low *= std::pow(*time.low / *other.high, power);
    mean.high *= std::pow(*time.high / *other.low, power);
  }
  return mean;
}

/// A ratio, and its interval if it has one.
struct ColumnRatio {
  double value = 1;
  std::optional<Bounds> bounds = {};
};

/// Whether the errors of a column are known: those of launches need two, and a time without samples
/// tells none.
bool knows_errors(const SideBySide& all, const Block& block, std::size_t column) {
  return all.predicted[column] || launches_of(all, block, column).size() > 1;
}

/// The time of a column over that of another. The fastest of n columns is held against n - 1, and
/// is called slower in at most 2.5 % of cases, as each of these misses the more rarely.
ColumnRatio ratio_between(const SideBySide& all, const Block& block, std::size_t column,
                          std::size_t other) {
  ColumnRatio ratio{mean_time(all, block, column) / mean_time(all, block, other)};
  if (!knows_errors(all, block, column) || !knows_errors(all, block, other)) return ratio;
  if (all.predicted[column] || all.predicted[other]) {
    ratio.bounds = mean_bounds(all, block, column, other);
    return ratio;
  }
  const int comparisons = static_cast<int>(block.columns.size()) - 1;
  const Ratio of_launches = ratio_of_medians(
      launches_of(all, block, other), launches_of(all, block, column), 0, {}, comparisons);
  return {of_launches.value, Bounds{of_launches.low, of_launches.high}};
}

/// The column that takes less than each one before it; the first of equals.
std::size_t fastest_column(const SideBySide& all, const Block& block) {
  std::size_t fastest = block.columns.front();
  for (const std::size_t column : block.columns) {
    if (column == fastest) continue;
    if (ratio_between(all, block, column, fastest).value < 1) fastest = column;
  }
  return fastest;
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
  Standing standing;
  standing.predicted = all.predicted[column];
  if (column == fastest) {
    standing.ties = true;
  } else {
    const ColumnRatio ratio = ratio_between(all, block, column, fastest);
    standing.ratio = ratio.value;
    if (ratio.bounds) {
      standing.low = ratio.bounds->low;
      standing.high = ratio.bounds->high;
      standing.ties = ratio.bounds->low <= 1;
    }
  }
  count_rows(all, block, column, fastest, standing);
  return standing;
}

/// The fastest alone ties without an interval.
bool is_fastest(const Standing& one) {
  return one.ties && !one.low;
}

/// Whether a measured column rests on one launch.
bool has_single_launch(const SideBySide& all, const Block& block) {
  return std::ranges::any_of(block.columns, [&](std::size_t column) {
    return launches_of(all, block, column).size() == 1;
  });
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
      counted(static_cast<long long>(ranking.compared), is_predicted(ranking)  ? "prediction"
                                                        : ranking.of_trainings ? "training"
                                                                               : "measurement");
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

/// "1.23 × as fast as B (95 % interval 1.1 to 1.4 ×)".
std::string winner_text(const Ranking& ranking, const Standing& next) {
  return fmt::format("{} × as fast as {} ({} {} to {} ×)", significant(next.ratio, 3),
                     name_in(ranking, next), interval_name(ranking), significant(*next.low, 3),
                     significant(*next.high, 3));
}

/// "A and B", "A, B and 3 more".
std::string names_of(const Ranking& ranking, bool (*is_named)(const Standing&)) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> names;
  for (const Standing& one : ranking.ranked) {
    if (is_named(one)) names.push_back(name_in(ranking, one));
  }
  if (names.size() == 1) return names.front();
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
  return fmt::format(
      "The {} do not tell {} apart. {} takes {} × as long as {}{} ({} {} to {} ×) {}{}.",
      is_predicted(ranking) ? "predictions" : "times",
      names_of(ranking, [](const Standing& one) { return one.ties; }), next.column,
      significant(next.ratio, 3), best.column, ranking.compared == 1 ? "" : " on average",
      interval_name(ranking), significant(*next.low, 3), significant(*next.high, 3),
      extent_of(ranking), exceptions_of(ranking, next));
}

/// Why no column wins: "times of B have no interval".
std::string why_unknown(const Ranking& ranking) {
  // The fastest has none of its own, and where its errors are unknown, no other has one.
  const bool names_some = has_intervals(ranking);
  const auto lacks = [](const Standing& one) { return !one.low && !is_fastest(one); };
  return fmt::format("{} {}",
                     names_some ? "times of " + names_of(ranking, lacks) : "some of these times",
                     ranking.of_single_launches ? "rest on one launch, and launches differ"
                                                : "have no interval");
}

/// Without intervals the least time may be chance.
std::string unknown_text(const Ranking& ranking, const Standing& best, const Standing& next) {
  return fmt::format(
      "Not known which is fastest, since {}; {} has the least time{}. {} takes {} × as long {}{}.",
      why_unknown(ranking), name_in(ranking, best), ranking.compared == 1 ? "" : " on average",
      name_in(ranking, next), significant(next.ratio, 3), extent_of(ranking),
      exceptions_of(ranking, next));
}

/// The limits of the answer: how sure its intervals are, and columns without a rank.
std::string limits_text(const Ranking& ranking) {
  std::string text;
  if (has_intervals(ranking) &&
      std::ranges::count(ranking.ranked, true, &Standing::predicted) > 1) {
    text += " Predictions of one machine share errors, so their ratio is surer than this interval.";
  }
  if (ranking.of_single_launches) text += " Measure 5 repeats of each.";
  if (const std::size_t others = ranking.unranked.size(); others > 0) {
    text += fmt::format(" {} of {} columns {} too few of these times to be ranked.", others,
                        others + ranking.ranked.size(), others == 1 ? "has" : "have");
  }
  return text;
}

}  // namespace

Ranking ranking_of(const SideBySide& all) {
  Ranking ranking;
  if (all.rows.empty()) return ranking;
  const Indices every = rows_that_count(all);
  ranking.rows = every.size();
  ranking.of_trainings = is_training(all.rows[every.front()]);
  const Block block = largest_block(all);
  ranking.compared = block.rows.size();
  ranking.of_single_launches = has_single_launch(all, block);
  const std::size_t fastest = fastest_column(all, block);
  const std::size_t shared = shared_source(all.columns);
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
  // Ratios of launches need not be in one order, so the fastest may have one below 1 beside it.
  std::ranges::stable_sort(ranking.ranked, {}, [](const Standing& one) {
    return std::pair(!is_fastest(one), one.ratio);
  });
  return ranking;
}

bool knows_fastest(const Ranking& ranking) {
  const auto is_known = [](const Standing& one) { return one.low && *one.low > 1; };
  return std::all_of(ranking.ranked.begin() + 1, ranking.ranked.end(), is_known);
}

bool has_intervals(const Ranking& ranking) {
  return std::ranges::any_of(ranking.ranked,
                             [](const Standing& one) { return one.low.has_value(); });
}

std::string interval_name(const Ranking& ranking) {
  if (is_measured(ranking)) return "95 % interval";
  return is_predicted(ranking) ? "90 % interval" : "interval";
}

std::string ranking_verdict(const Ranking& ranking) {
  EXPECT(ranking.ranked.size() > 1);
  const Standing& best = ranking.ranked[0];
  const Standing& next = ranking.ranked[1];
  // A column without an interval may be the fastest, whatever those with one are.
  const auto lacks = [](const Standing& one) { return !one.low; };
  if (std::any_of(ranking.ranked.begin() + 1, ranking.ranked.end(), lacks)) {
    return unknown_text(ranking, best, next) + limits_text(ranking);
  }
  const auto tied =
      std::ranges::find(ranking.ranked.begin() + 1, ranking.ranked.end(), true, &Standing::ties);
  if (tied != ranking.ranked.end()) return tie_text(ranking, best, *tied) + limits_text(ranking);
  return fmt::format("{} is {}fastest{}: {} {}{}.{}", name_in(ranking, best),
                     is_predicted(ranking) ? "predicted to be " : "",
                     ranking.compared == 1 ? "" : " on average", winner_text(ranking, next),
                     extent_of(ranking), exceptions_of(ranking, next), limits_text(ranking));
}

}  // namespace dlscale::report
