#include "report/results/rates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/results/bandwidths.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::report {

namespace {

/// Drops a rate that is not finite, from impossible work or times (1e308 operations).
template <class Rate>
std::optional<Rate> if_finite(std::optional<Rate> rate) {
  return rate && std::isfinite(rate->si()) ? rate : std::nullopt;
}

std::map<std::string, int> count_remarks(std::span<const Measurement> measurements) {
  std::map<std::string, int> counts;
  for (const Measurement& measurement : measurements) {
    if (measurement.status != Status::ok) {
      const std::string word(status_name(measurement.status));
      ++counts[measurement.reason.empty() ? word : word + ": " + measurement.reason];
    }
    for (const std::string& warning : measurement.warnings) ++counts["warning: " + warning];
  }
  return counts;
}

}  // namespace

Rates rates(const Measurement& measurement) {
  Rates rates;
  const auto* main = main_series(measurement);
  if (main == nullptr || main->second.unit != "s" || !(main->second.summary.median > 0)) {
    return rates;
  }
  const Seconds time(main->second.summary.median);
  if (measurement.work && measurement.work->flops > Flops{}) {
    rates.flops = if_finite(std::optional(measurement.work->flops / time));
  }
  if (measurement.algorithmic_work && measurement.algorithmic_work->flops > Flops{}) {
    rates.algorithmic = if_finite(std::optional(measurement.algorithmic_work->flops / time));
  }
  if (measurement.work && measurement.work->bytes > Bytes{}) {
    rates.bytes = if_finite(std::optional(measurement.work->bytes / time));
  }
  if (const auto derived = bandwidths(measurement, time)) {
    rates.algbw = if_finite(std::optional(derived->algbw));
    rates.busbw = if_finite(derived->busbw);
    rates.wirebw = if_finite(derived->wirebw);
  }
  return rates;
}

const std::pair<const std::string, Series>* main_series(const Measurement& measurement) {
  for (const char* name : {"time", "t_iter", "compute"}) {
    const auto found = measurement.series.find(name);
    if (found != measurement.series.end()) return &*found;
  }
  return nullptr;
}

std::vector<double> values_of(const Measurement& measurement, const std::string& series) {
  const auto found = measurement.series.find(series);
  return found == measurement.series.end() ? std::vector<double>{} : found->second.samples.front();
}

bool has_interval(const Summary& summary) {
  return summary.n >= 6;
}

std::string interval_text(const Summary& summary) {
  return has_interval(summary) ? "±" + percent(relative_half_width(summary)) : "-";
}

std::vector<std::string> remarks(std::span<const Measurement> measurements, std::size_t most) {
  const std::map<std::string, int> counts = count_remarks(measurements);
  std::vector<std::pair<std::string, int>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered, std::greater{}, &std::pair<std::string, int>::second);
  std::vector<std::string> lines;
  for (const auto& [text, count] : ordered) {
    if (lines.size() == most) {
      lines.push_back(fmt::format("and {} more, which the results have",
                                  counted(std::ssize(ordered) - std::ssize(lines), "remark")));
      break;
    }
    lines.push_back(fmt::format("{} ({})", text, counted(count, "cell")));
  }
  return lines;
}

}  // namespace dlscale::report
