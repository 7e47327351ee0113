#include "report/comparison/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/results/usable_rows.hpp"
#include "regression/import/result_run.hpp"
#include "regression/statistics/benjamini_hochberg.hpp"
#include "regression/statistics/log_rounding.hpp"
#include "report/comparison/common_change.hpp"
#include "report/comparison/ratio.hpp"
#include "report/results/environment_rows.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using regression::benjamini_hochberg;
using regression::Verdict;

/// Place of measurements, as far as their files record it: the class of the machine, and ranks and
/// cores of the launch, by name. Files from several places contribute all values. Excludes
/// libraries, compilers and what joined the ranks, since a comparison may be about these.
using MeasuredPlace = std::map<std::string, std::set<std::string>>;

/// False for placeholders of unknown values, as in files of Google Benchmark.
bool is_known(const std::string& value) {
  return !value.empty() && value != "unknown" && value != "0" && value != "0 GiB";
}

void add_place(MeasuredPlace& place, const ResultHeader& header) {
  history::Facts facts = history::machine_facts(header);
  facts.merge(history::launch_facts(header));
  facts.erase("comm");
  for (const auto& [name, value] : facts) {
    if (is_known(value)) place[name].insert(value);
  }
}

/// Properties in which two places differ, if both know them: "cpu: X | Y".
std::vector<std::string> place_differences(const MeasuredPlace& a, const MeasuredPlace& b) {
  std::vector<std::string> lines;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second == values) continue;
    lines.push_back(
        fmt::format("{}: {} | {}", name, fmt::join(values, ", "), fmt::join(other->second, ", ")));
  }
  return lines;
}

/// Options of a compiler without those that only choose its warnings.
std::string without_warnings(const std::string& flags) {
  std::istringstream words(flags);
  std::string kept;
  for (std::string word; words >> word;) {
    if (!word.starts_with("-W")) kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

/// Facts of compilers, libraries and variables, by name.
MeasuredPlace environment_of(std::span<const ResultFile> files) {
  MeasuredPlace all;
  for (const ResultFile& file : files) {
    for (const auto& [name, value] : history::environment_facts(file.header)) {
      if (is_known(value)) all[name].insert(name == "flags" ? without_warnings(value) : value);
    }
  }
  return all;
}

/// All measurements under one key.
struct MeasuredCell {
  std::string benchmark;
  std::map<std::string, std::string> axes;
  std::map<std::string, Repeats> series;  ///< series of times
  MeasuredPlace place;
  std::string trouble;       ///< why there are no times
  std::string left_out;      ///< why its file has no times, where it says so
  bool is_wrong = false;     ///< the trouble is a wrong answer
  std::string state = "ok";  ///< quality of the times, if there are some
};
using MeasuredCells = std::map<std::string, MeasuredCell>;

bool has_samples(const Series& series) {
  return series.unit == "s" && !series.samples.empty() && !series.samples.front().empty();
}

void add_measurement(MeasuredCells& cells, const Measurement& measurement,
                     const ResultHeader& header) {
  MeasuredCell& cell = cells[key_without(measurement, repeat_axis)];
  cell.benchmark = measurement.benchmark;
  cell.axes = measurement.axes;
  cell.axes.erase("repeat");
  if (cell.axes.contains(std::string(extra_work_axis))) {
    cell.trouble = "measured with extra work, for a study of noise";
    return;
  }
  const std::string state =
      measurement.reason.empty()
          ? std::string(status_name(measurement.status))
          : fmt::format("{} ({})", status_name(measurement.status), measurement.reason);
  if (!is_timed(measurement)) {
    // Among several troubles of repeats, a wrong answer takes precedence.
    if (!cell.is_wrong) cell.trouble = state;
    cell.is_wrong |= measurement.status == Status::wrong;
    return;
  }
  if (measurement.status == Status::unstable) cell.state = state;
  if (measurement.series.empty()) cell.left_out = measurement.reason;
  add_place(cell.place, header);
  for (const auto& [name, series] : measurement.series) {
    if (!has_samples(series) || !role_of(measurement.benchmark, name)) continue;
    cell.series[name].push_back(slowest_rank(series.samples));
  }
}

MeasuredCells collect_cells(std::span<const ResultFile> files) {
  MeasuredCells cells;
  for (const ResultFile& file : files) {
    for (const Measurement& measurement : file.measurements)
      add_measurement(cells, measurement, file.header);
  }
  for (auto& [key, cell] : cells) {
    if (!cell.series.empty() || !cell.trouble.empty()) continue;
    cell.trouble = "without times" + (cell.left_out.empty() ? "" : " (" + cell.left_out + ")");
  }
  return cells;
}

double pooled_median(const Repeats& repeats) {
  std::vector<double> all;
  for (const auto& samples : repeats) all.insert(all.end(), samples.begin(), samples.end());
  return median(all);
}

Verdict judge(const Ratio& ratio, double margin) {
  if (ratio.method.empty()) return Verdict::inconclusive;
  const double upper = 1 + margin;
  const double lower = 1 / upper;
  if (ratio.low > upper) return Verdict::regressed;
  if (ratio.high < lower) return Verdict::improved;
  const bool within = ratio.low >= lower && ratio.high <= upper;
  return within ? Verdict::unchanged : Verdict::inconclusive;
}

/// Why two sides have no ratio; empty if they have one.
std::string why_no_ratio(const Repeats& a, const Repeats& b) {
  for (const Repeats* side : {&a, &b}) {
    for (const std::vector<double>& samples : *side) {
      if (!std::ranges::all_of(samples, [](double sample) { return sample > 0; })) {
        return "has a time of 0 s";
      }
      if (!std::ranges::all_of(samples,
                               [](double sample) { return sample < max_plausible_time_s; })) {
        return "has a time of 1e12 s or more, which nothing measured can be";
      }
    }
  }
  return "";
}

/// A row with its p-values for the correction over all rows: "not slower" and "not faster",
/// two-sided as the interval is; 1 without one.
struct JudgedRow {
  Comparison row;
  double p_worse = 1;
  double p_better = 1;
};

using regression::PrintedValue;

/// The samples of a series on both sides, and half the unit of their last printed digit.
struct ComparedSeries {
  const Repeats* a = nullptr;
  const Repeats* b = nullptr;
  double rounding_a = 0;  ///< s
  double rounding_b = 0;
};

void note_rounding(const ComparedSeries& series, double margin, Comparison& row) {
  const PrintedValue a{row.a, series.rounding_a};
  const PrintedValue b{row.b, series.rounding_b};
  const PrintedValue& coarser = smallest_printed_change(a) >= smallest_printed_change(b) ? a : b;
  if (row.verdict != Verdict::inconclusive || smallest_printed_change(coarser) <= margin) return;
  row.held = Comparison::Held::by_rounding;
  row.method += "; " + rounding_words(coarser);
}

/// The ratio compares launches, and the median of all samples may move against it, as where levels
/// jump.
void agree_with_ratio(Comparison& row) {
  if ((row.b - row.a) * (row.ratio - 1) >= 0) return;
  const double level = std::sqrt(row.a) * std::sqrt(row.b);
  row.a = level / std::sqrt(row.ratio);
  row.b = level * std::sqrt(row.ratio);
  row.method += "; A and B are the middle level with this ratio, which their medians deny";
}

JudgedRow compare_series(const ComparedSeries& series, double margin) {
  const Repeats& a = *series.a;
  const Repeats& b = *series.b;
  JudgedRow judged;
  Comparison& row = judged.row;
  row.a = pooled_median(a);
  row.b = pooled_median(b);
  const Ratio ratio = ratio_of_medians(
      a, b, margin,
      regression::log_rounding_of_ratio({row.a, series.rounding_a}, {row.b, series.rounding_b}));
  row.ratio = ratio.value;
  row.ratio_low = ratio.low;
  row.ratio_high = ratio.high;
  row.verdict = judge(ratio, margin);
  row.launches = static_cast<int>(std::min(a.size(), b.size()));
  row.has_interval = !ratio.method.empty();
  row.method = row.has_interval ? ratio.method : "too few samples for an interval";
  note_rounding(series, margin, row);
  agree_with_ratio(row);
  judged.p_worse = std::min(1.0, 2 * ratio.p_larger);
  judged.p_better = std::min(1.0, 2 * ratio.p_smaller);
  return judged;
}

void hold(Comparison& row, Comparison::Held why) {
  if (row.verdict == Verdict::inconclusive) return;
  row.held = why;
  row.verdict = Verdict::inconclusive;
  row.method += why == Comparison::Held::by_place ? "; at another place"
                                                  : "; among so many rows it may be chance";
}

std::vector<double> adjusted(const std::vector<JudgedRow>& rows, double JudgedRow::*side) {
  std::vector<double> p;
  for (const JudgedRow& judged : rows) {
    if (judged.row.role == SeriesRole::judged) p.push_back(judged.*side);
  }
  return benjamini_hochberg(p);
}

/// Withholds verdicts that may be due to chance among many rows.
void allow_for_many(std::vector<JudgedRow>& rows) {
  constexpr double q = 0.05;
  const std::vector<double> worse = adjusted(rows, &JudgedRow::p_worse);
  const std::vector<double> better = adjusted(rows, &JudgedRow::p_better);
  std::size_t at = 0;
  for (JudgedRow& judged : rows) {
    if (judged.row.role != SeriesRole::judged) continue;
    const bool may_be_chance = (judged.row.verdict == Verdict::regressed && worse[at] > q) ||
                               (judged.row.verdict == Verdict::improved && better[at] > q);
    if (may_be_chance) hold(judged.row, Comparison::Held::by_family);
    ++at;
  }
}

/// Whether neither version of the library supports the case, which is not a difference.
bool both_unsupported(const MeasuredCell& a, const MeasuredCell& b) {
  const std::string_view word = status_name(Status::unsupported);
  return a.trouble.starts_with(word) && b.trouble.starts_with(word);
}

/// Records a name that A measured and B did not.
void add_missing(ComparisonReport& report, const std::string& name) {
  report.only_a.push_back(name);
  report.missing.push_back(name);
}

/// Records differences between the places of two cells; returns whether there are any.
bool note_places(ComparisonReport& report, const MeasuredCell& a, const MeasuredCell& b) {
  const std::vector<std::string> lines = place_differences(a.place, b.place);
  for (const std::string& line : lines) {
    const auto known = std::ranges::find(report.place_differences, line);
    if (known == report.place_differences.end()) report.place_differences.push_back(line);
  }
  return !lines.empty();
}

/// State of a comparison under construction.
struct ComparisonState {
  ComparisonReport report;
  std::vector<JudgedRow> rows;
  AcrossPlaces across = AcrossPlaces::refused;
  const Roundings* roundings_a = nullptr;
  const Roundings* roundings_b = nullptr;
};

double rounding_of(const Roundings& roundings, const std::string& key) {
  const auto found = roundings.find(key);
  return found == roundings.end() ? 0 : found->second;
}

/// Compares the series of two cells. A phase without time on either side has no ratio and no row,
/// nor has one that only A timed.
void compare_cells(ComparisonState& state, const std::string& key, const MeasuredCell& a,
                   const MeasuredCell& b) {
  ComparisonReport& report = state.report;
  const bool elsewhere = state.across == AcrossPlaces::refused && note_places(report, a, b);
  for (const auto& [name, repeats] : a.series) {
    const SeriesRole role = role_of(a.benchmark, name).value();
    const auto other = b.series.find(name);
    if (other == b.series.end()) {
      if (role == SeriesRole::judged) add_missing(report, key + ": " + name);
      continue;
    }
    if (const std::string why = why_no_ratio(repeats, other->second); !why.empty()) {
      if (role == SeriesRole::judged) {
        report.not_compared.push_back({key, name + " " + why, Verdict::inconclusive});
      }
      continue;
    }
    JudgedRow judged =
        compare_series({&repeats, &other->second, rounding_of(*state.roundings_a, key),
                        rounding_of(*state.roundings_b, key)},
                       report.margin);
    Comparison& row = judged.row;
    row.key = key;
    row.benchmark = a.benchmark;
    row.axes = a.axes;
    row.series = name;
    row.role = role;
    if (elsewhere) hold(row, Comparison::Held::by_place);
    state.rows.push_back(std::move(judged));
  }
}

void match_cells(ComparisonState& state, const MeasuredCells& a, const MeasuredCells& b) {
  ComparisonReport& report = state.report;
  for (const auto& [key, cell] : a) {
    const auto other = b.find(key);
    if (other == b.end() && cell.trouble.empty()) {
      add_missing(report, key);
    } else if (other == b.end()) {
      report.only_a.push_back(fmt::format("{}: {}", key, cell.trouble));
    } else if (both_unsupported(cell, other->second)) {
      continue;
    } else if (!cell.trouble.empty() || !other->second.trouble.empty()) {
      const auto state = [](const MeasuredCell& side) {
        return side.trouble.empty() ? side.state : side.trouble;
      };
      report.not_compared.push_back(
          {key, fmt::format("A is {}, B is {}", state(cell), state(other->second)),
           other->second.is_wrong ? Verdict::wrong : Verdict::inconclusive});
    } else {
      compare_cells(state, key, cell, other->second);
    }
  }
  for (const auto& [key, cell] : b) {
    if (!a.contains(key)) report.only_b.push_back(key);
  }
}

std::map<std::string, std::string> environment_map(std::span<const ResultFile> files) {
  const NamedTexts rows = joined_environment(files);
  return {rows.begin(), rows.end()};
}

std::vector<std::string> differences(std::span<const ResultFile> a, std::span<const ResultFile> b) {
  std::map<std::string, std::string> left = environment_map(a);
  std::map<std::string, std::string> right = environment_map(b);
  std::set<std::string> names;
  for (const auto* side : {&left, &right}) {
    for (const auto& [name, value] : *side) names.insert(name);
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (name == "date" || name == "load" || left[name] == right[name]) continue;
    lines.push_back(fmt::format("{}: {} | {}", name, left[name], right[name]));
  }
  return lines;
}

Verdict overall(const ComparisonReport& report) {
  const auto any = [&report](Verdict verdict) {
    return std::ranges::any_of(report.rows, [verdict](const Comparison& row) {
      return row.role == SeriesRole::judged && row.verdict == verdict;
    });
  };
  if (std::ranges::count(report.not_compared, Verdict::wrong, &NotCompared::verdict) > 0) {
    return Verdict::wrong;
  }
  if (any(Verdict::regressed)) return Verdict::regressed;
  if (any(Verdict::inconclusive) || !report.not_compared.empty()) return Verdict::inconclusive;
  return any(Verdict::improved) ? Verdict::improved : Verdict::unchanged;
}

}  // namespace

ComparisonReport compare(std::span<const ResultFile> a, std::span<const ResultFile> b,
                         double margin, AcrossPlaces across, const Roundings& roundings_a,
                         const Roundings& roundings_b) {
  if (!(margin >= 0)) {
    throw ConfigError(fmt::format(
        "the margin is {}; a fraction of at least 0 is needed. Write 0.01 for 1 %.", margin));
  }
  ComparisonState state;
  state.across = across;
  state.roundings_a = &roundings_a;
  state.roundings_b = &roundings_b;
  ComparisonReport& report = state.report;
  report.margin = margin;
  match_cells(state, collect_cells(a), collect_cells(b));
  allow_for_many(state.rows);
  for (JudgedRow& judged : state.rows) report.rows.push_back(std::move(judged.row));
  if (report.rows.empty() && report.not_compared.empty()) {
    throw Error(ExitCode::nothing_measured,
                "A and B have no measurement in common, so there is nothing to compare. Compare "
                "results of the same benchmark with the same parameters.");
  }
  report.environment_differences = differences(a, b);
  report.changed_environment = place_differences(environment_of(a), environment_of(b));
  report.attributions = attribute(a, b);
  report.common = common_change(report);
  report.verdict = overall(report);
  return std::move(report);
}

ExitCode exit_code(const ComparisonReport& report, MissingRows missing) {
  const bool fails = missing == MissingRows::fail && !report.missing.empty();
  if (report.verdict == Verdict::wrong) return exit_code(report.verdict);
  if (fails) return ExitCode::regression;
  return report.rows.empty() ? ExitCode::nothing_measured : exit_code(report.verdict);
}

}  // namespace dlscale::report
