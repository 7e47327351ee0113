#include "report/kernels/algorithm_summary.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report {
namespace {

/// Counts and speeds of an algorithm over all cases.
struct Tally {
  long long ran = 0, fastest = 0, tied = 0, refused = 0, failed = 0, not_measured = 0;
  bool competes = true;
  std::vector<double> over_fastest;
  std::vector<double> effective;  ///< operations/s
  std::vector<double> shares;     ///< fractions of the roofline
};

/// Adds a row of a case to the tally; `leading` are the leaders() of the case.
void count(Tally& tally, const Measurement& row, const Rows& leading, const KernelStudy& study) {
  tally.competes = !keeps_filters(row);
  if (!is_timed(row)) {
    ++(row.status == Status::unsupported ? tally.refused : tally.failed);
    return;
  }
  ++tally.ran;
  if (!leading.empty()) {
    if (std::ranges::find(leading, &row) != leading.end()) {
      ++(leading.size() == 1 ? tally.fastest : tally.tied);
    }
    tally.over_fastest.push_back(time_of(row) / time_of(*leading.front()));
  }
  if (const auto rate = rates(row).flops) tally.effective.push_back(rate->si());
  if (const auto share = study.share(row)) tally.shares.push_back(*share);
}

/// A condition without network and batch. Algorithms measured in one setting can be measured at all
/// its cases.
Axes setting_without_case(Axes condition) {
  condition.erase("network");
  condition.erase("batch");
  return condition;
}

/// Competing algorithms that were measured at some case of each setting.
using Rivals = std::map<Axes, std::set<std::string>>;

Rivals rivals_of(const std::vector<Found>& cases) {
  Rivals rivals;
  for (const Found& found : cases) {
    std::set<std::string>& mine = rivals[setting_without_case(found.condition)];
    for (const auto& [algorithm, row] : found.by) {
      if (!keeps_filters(*row)) mine.insert(algorithm);
    }
  }
  return rivals;
}

/// Rivals without a row at the case.
std::vector<std::string> not_measured_at(const Found& found, const Rivals& rivals) {
  std::vector<std::string> absent;
  std::ranges::copy_if(
      rivals.at(setting_without_case(found.condition)), std::back_inserter(absent),
      [&found](const std::string& algorithm) { return !found.by.contains(algorithm); });
  return absent;
}

std::map<std::string, Tally> tallies(std::span<const ResultFile> results,
                                     const KernelStudy& study) {
  const std::vector<Found> cases = found_cases(results);
  const Rivals rivals = rivals_of(cases);
  std::map<std::string, Tally> all;
  for (const Found& found : cases) {
    const Rows leading = leaders(found.rows);
    for (const auto& [algorithm, row] : found.by) count(all[algorithm], *row, leading, study);
    for (const std::string& algorithm : not_measured_at(found, rivals)) {
      ++all[algorithm].not_measured;
    }
  }
  return all;
}

template <class Text>
std::string median_text(const std::vector<double>& values, Text text) {
  return values.empty() ? "" : text(median(values));
}

std::string gigaflops(double rate) {
  return giga(FlopsPerSecond(rate));
}

std::vector<Cell> tally_cells(const std::string& algorithm, const Tally& tally) {
  const auto& effective = tally.effective;
  const std::string most = effective.empty() ? "" : gigaflops(std::ranges::max(effective));
  return {{algorithm},
          {std::to_string(tally.ran)},
          {tally.competes ? std::to_string(tally.fastest) : "–"},
          {tally.competes ? std::to_string(tally.tied) : "–"},
          {std::to_string(tally.refused)},
          {std::to_string(tally.failed), tally.failed > 0 ? Tone::bad : Tone::plain},
          {tally.competes ? std::to_string(tally.not_measured) : "–",
           tally.not_measured > 0 ? Tone::caution : Tone::plain},
          {median_text(tally.over_fastest, [](double value) { return significant(value, 3); })},
          {median_text(effective, gigaflops)},
          {most},
          {median_text(tally.shares, percent)}};
}

/// Errors of an algorithm in a pass.
struct Errors {
  std::vector<double> largest, mean;
};

/// A qualification of a comparison of `all` cases; empty if it is complete.
std::string incomplete_text(long long incomplete, long long all) {
  if (incomplete == 0) return "";
  return fmt::format(
      " At {} some algorithms that were measured elsewhere were not, and may be faster.",
      incomplete == all ? "all of them" : fmt::format("{} of them", incomplete));
}

}  // namespace

std::string fastest_sentence(std::span<const ResultFile> results) {
  std::map<std::string, long long> wins;
  long long all = 0;
  long long ties = 0;
  long long unknown = 0;
  long long incomplete = 0;
  bool with_kept_filters = false;
  const std::vector<Found> cases = found_cases(results);
  const Rivals rivals = rivals_of(cases);
  for (const Found& found : cases) {
    const Rows leading = leaders(found.rows);
    if (leading.empty()) {
      with_kept_filters = with_kept_filters || ran_with_kept_filters(found.by);
      continue;
    }
    ++all;
    incomplete += not_measured_at(found, rivals).empty() ? 0 : 1;
    if (leading.size() == 1) {
      ++wins[algorithm_of(*leading.front())];
    } else {
      ++(tie_text(found.rows) == " (tie)" ? ties : unknown);
    }
  }
  std::vector<std::pair<long long, std::string>> ordered;
  ordered.reserve(wins.size());
  for (const auto& [algorithm, times] : wins) ordered.emplace_back(times, algorithm);
  std::ranges::stable_sort(ordered, std::greater{}, [](const auto& win) { return win.first; });
  std::vector<std::string> parts;
  parts.reserve(ordered.size());
  for (const auto& [times, algorithm] : ordered) {
    parts.push_back(fmt::format("{} at {}", algorithm, times));
  }
  if (ties > 0) parts.push_back(fmt::format("a tie at {} (95 % intervals overlap)", ties));
  if (unknown > 0) {
    parts.push_back(
        fmt::format("not known at {} (no 95 % interval of fewer than 6 samples)", unknown));
  }
  return fmt::format(
      "The fastest algorithm of {}: {}.{}",
      counted(all, "measured case") + " (layer, pass and batch)",
      parts.empty() ? none_ran(with_kept_filters) : fmt::format("{}", fmt::join(parts, ", ")),
      incomplete_text(incomplete, all));
}

Table algorithms_table(std::span<const ResultFile> results, const KernelStudy& study) {
  Table table;
  table.title = "The algorithms over all measured cases";
  table.columns = {{"algorithm", Align::left},
                   {"ran at"},
                   {"fastest at"},
                   {"tied at"},
                   {"not offered at"},
                   {"failed at"},
                   {"not measured at"},
                   {"time / fastest, median"},
                   {"effective GFLOP/s, median"},
                   {"most"},
                   {"of roofline, median"}};
  bool kept = false;
  for (const auto& [algorithm, tally] : tallies(results, study)) {
    table.rows.push_back(tally_cells(algorithm, tally));
    kept = kept || !tally.competes;
  }
  table.notes = {
      "a case is a layer in a pass with a batch under one condition; failed: a wrong answer, or "
      "interrupted; not measured: nothing was found of it there, though it was measured elsewhere "
      "under the same condition but for network and batch",
      "fastest: ahead of all others by more than the 95 % intervals; tied: its interval overlaps "
      "that of the fastest, or another's overlaps its own where it is that, or one of them has "
      "none, for which it takes 6 samples",
      std::string(speed_note)};
  if (kept) table.notes.emplace_back(kept_filters_note);
  return table;
}

Table answers_table(std::span<const ResultFile> results) {
  std::map<std::string, std::map<std::size_t, Errors>> errors;
  std::map<std::size_t, std::string> there;
  for (const Measurement* row : algorithm_rows(results)) {
    if (!row->max_relative_error) continue;
    const Case what = case_of(*row);
    there[what.pass] = what.pass_text();
    Errors& mine = errors[algorithm_of(*row)][what.pass];
    mine.largest.push_back(*row->max_relative_error);
    if (row->mean_relative_error) mine.mean.push_back(*row->mean_relative_error);
  }
  Table table;
  table.title = "Errors against double precision";
  table.columns = {{"algorithm", Align::left}};
  for (const auto& [pass, name] : there) {
    table.columns.push_back({name + " largest"});
    table.columns.push_back({name + " mean"});
  }
  for (const auto& [algorithm, by_pass] : errors) {
    std::vector<Cell> cells{{algorithm}};
    for (const auto& [pass, name] : there) {
      const auto found = by_pass.find(pass);
      const bool has = found != by_pass.end();
      cells.push_back({has ? scientific(std::ranges::max(found->second.largest)) : ""});
      cells.push_back({has ? median_text(found->second.mean, scientific) : ""});
    }
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty()) return table;
  table.notes = {
      "largest: of all elements checked in all cases; mean: over the elements of a case, in the "
      "median of cases"};
  return table;
}

}  // namespace dlscale::report
