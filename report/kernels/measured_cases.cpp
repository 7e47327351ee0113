#include "report/kernels/measured_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/network/network.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report {
namespace {

/// Suffix of algorithms whose filters are transformed once and kept.
constexpr std::string_view kept_filters = "_kept_filters";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> not_worth_a_word{
    {{"ranks", "1"}, {"ranks_on_node", "1"}, {"fuse", "none"}, {"values", "normal"}}};

void sort_by_time(Rows& rows) {
  std::ranges::stable_sort(rows, {}, [](const Measurement* row) { return time_of(*row); });
}

struct Interval {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
};

/// Interval over all timed measurements by that algorithm; all times if one has no interval.
Interval interval_of(const Rows& rows, const std::string& algorithm) {
  Interval interval;
  for (const Measurement* row : rows) {
    if (!is_timed(*row) || algorithm_of(*row) != algorithm) continue;
    const Summary& summary = row->at("time").summary;
    if (!has_interval(summary)) return {0, std::numeric_limits<double>::infinity()};
    interval.low = std::min(interval.low, summary.ci95_low);
    interval.high = std::max(interval.high, summary.ci95_high);
  }
  return interval;
}

}  // namespace

Seconds time_of(const Measurement& measurement) {
  return Seconds(measurement.at("time").summary.median);
}

std::string algorithm_of(const Measurement& measurement) {
  return axis_or_empty(measurement, "backend") + " " + axis_or_empty(measurement, "algorithm");
}

std::string set_of(const Measurement& measurement) {
  return dlscale::set_of(axis_or_empty(measurement, "network"),
                         axis_or_empty(measurement, "layer"));
}

bool keeps_filters(const Measurement& measurement) {
  return axis_or_empty(measurement, "algorithm").ends_with(kept_filters);
}

Axes condition_of(const Measurement& measurement) {
  Axes condition = measurement.axes;
  for (const char* name : {"layer", "kernel", "pass", "backend", "algorithm", "repeat"}) {
    condition.erase(name);
  }
  condition["network"] = set_of(measurement);
  return condition;
}

std::string condition_text(Axes condition) {
  const auto taken = [&condition](const char* name) {
    std::string value = axis_or_empty(condition, name);
    condition.erase(name);
    return value;
  };
  std::vector<std::string> parts{taken("network")};
  if (const std::string batch = taken("batch"); !batch.empty()) parts.push_back("batch " + batch);
  if (const std::string dtype = taken("dtype"); !dtype.empty()) parts.push_back(dtype);
  if (const std::string threads = taken("threads"); is_number(threads)) {
    parts.push_back(counted(std::stoll(threads), "thread"));
  }
  if (const std::string cache = taken("cache"); !cache.empty()) parts.push_back(cache + " caches");
  for (const auto& [name, value] : condition) {
    const auto usual = std::ranges::find(
        not_worth_a_word, std::pair<std::string_view, std::string_view>(name, value));
    if (usual == not_worth_a_word.end()) parts.push_back(fmt::format("{} {}", name, value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string Case::pass_text() const {
  return pass < convolution_passes.size() ? std::string(pass_name(convolution_passes.at(pass)))
                                          : "";
}

std::string Case::shape_text() const {
  return kernel.substr(kernel.find(' ') + 1);
}

Case case_of(const Measurement& measurement) {
  const auto place =
      std::ranges::find(convolution_passes, axis_or_empty(measurement, "pass"), pass_name);
  return {axis_or_empty(measurement, "layer"), axis_or_empty(measurement, "kernel"),
          static_cast<std::size_t>(place - convolution_passes.begin())};
}

Rows algorithm_rows(std::span<const ResultFile> results) {
  Rows rows;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      const bool convolution = axis_or_empty(each, "kernel").starts_with("convolution ");
      if (convolution && names_algorithm(each)) rows.push_back(&each);
    }
  }
  return rows;
}

Conditions by_condition(std::span<const ResultFile> results) {
  Conditions conditions;
  for (const Measurement* row : algorithm_rows(results)) {
    conditions[condition_of(*row)][case_of(*row)].push_back(row);
  }
  return conditions;
}

ByAlgorithm by_algorithm(const Rows& rows) {
  std::map<std::string, Rows> all;
  for (const Measurement* row : rows) all[algorithm_of(*row)].push_back(row);
  ByAlgorithm middle;
  for (const auto& [algorithm, repeats] : all) {
    Rows timed = repeats;
    std::erase_if(timed, [](const Measurement* row) { return !is_timed(*row); });
    sort_by_time(timed);
    middle[algorithm] = timed.empty() ? repeats.front() : timed[timed.size() / 2];
  }
  return middle;
}

Rows ranking(const ByAlgorithm& all) {
  Rows timed;
  for (const auto& [algorithm, row] : all) {
    if (is_timed(*row) && !keeps_filters(*row)) timed.push_back(row);
  }
  sort_by_time(timed);
  return timed;
}

bool tie(const Rows& rows, const Measurement& one, const Measurement& other) {
  const Interval first = interval_of(rows, algorithm_of(one));
  const Interval second = interval_of(rows, algorithm_of(other));
  return first.low <= second.high && second.low <= first.high;
}

Rows leaders(const Rows& rows) {
  Rows ranked = ranking(by_algorithm(rows));
  if (ranked.empty()) return ranked;
  const Measurement& fastest = *ranked.front();
  std::erase_if(ranked, [&](const Measurement* row) { return !tie(rows, fastest, *row); });
  return ranked;
}

std::string tie_text(const Rows& rows) {
  const Rows leading = leaders(rows);
  if (leading.size() < 2) return "";
  const auto known = [&rows](const Measurement* row) {
    return std::isfinite(interval_of(rows, algorithm_of(*row)).high);
  };
  return std::ranges::all_of(leading, known) ? " (tie)" : " (not known)";
}

bool ran_with_kept_filters(const ByAlgorithm& all) {
  return std::ranges::any_of(all, [](const auto& found) {
    return is_timed(*found.second) && keeps_filters(*found.second);
  });
}

std::string none_ran(bool with_kept_filters) {
  return with_kept_filters ? "only with kept filters" : "none ran";
}

std::vector<Found> found_cases(std::span<const ResultFile> results) {
  std::vector<Found> all;
  for (const auto& [condition, cases] : by_condition(results)) {
    for (const auto& [what, rows] : cases) {
      all.push_back({condition, what, rows, by_algorithm(rows)});
    }
  }
  return all;
}

}  // namespace dlscale::report
