// How much numbers differ that should be the same: within a run, between runs, from one sample to
// the next, and what change could be told from that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/statistics.hpp"
#include "core/usable_rows.hpp"
#include "report/numbers.hpp"
#include "report/suite_record.hpp"
#include "report/trust_rows.hpp"

namespace dlscale::report {
namespace {

/// 1.4826 MAD estimates the standard deviation of a normal distribution.
constexpr double mad_to_deviation = 1.4826;
/// Above it, a difference of some percent between two lines of a page says nothing.
constexpr double much_noise = 0.05;

/// The times that a row is about; null where it has none.
const Series* times_of(const Measurement& row) {
  if (!is_timed(row)) return nullptr;
  const auto found = row.series.find(row.benchmark == "e2e" ? "t_iter" : "time");
  if (found == row.series.end() || found->second.unit != "s") return nullptr;
  return found->second.summary.median > 0 ? &found->second : nullptr;
}

template <class Value>
std::vector<double> of_all_times(const ReportInput& input, Value value) {
  std::vector<double> values;
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) {
      const Series* times = times_of(row);
      if (times == nullptr) continue;
      if (const std::optional<double> one = value(*times)) values.push_back(*one);
    }
  }
  return values;
}

/// Half the 95 % interval of the median over the median; nothing for fewer than six samples, of
/// which there is no such interval.
std::optional<double> half_interval(const Series& times) {
  constexpr std::size_t least = 6;
  if (times.summary.n < least) return std::nullopt;
  return relative_half_width(times.summary);
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

/// Correlation of each sample's rank with that of the next.
std::optional<double> autocorrelation(const Series& times) {
  constexpr std::size_t least = 8;
  if (times.samples.empty() || times.samples.front().size() < least) return std::nullopt;
  const std::vector<double> ranks = ranks_of(times.samples.front());
  const double mean = (static_cast<double>(ranks.size()) - 1) / 2;
  double shared = 0;
  double own = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    own += (ranks[i] - mean) * (ranks[i] - mean);
    if (i > 0) shared += (ranks[i] - mean) * (ranks[i - 1] - mean);
  }
  return shared / own;
}

std::string middle_and_worst(const std::vector<double>& values) {
  return fmt::format("{} in the middle, {} or more for the worst tenth", percent(median(values)),
                     percent(quantile(values, 0.9)));
}

TrustRow not_known(std::string what, std::string seen, std::string means) {
  return {std::move(what), "not known", std::move(seen), std::move(means), Tone::caution};
}

}  // namespace

TrustRow within_run_row(const ReportInput& input) {
  const std::string what = "Noise within a run";
  const std::vector<double> spreads = of_all_times(input, [](const Series& times) {
    return times.summary.n > 1
               ? std::optional(mad_to_deviation * times.summary.mad / times.summary.median)
               : std::nullopt;
  });
  if (spreads.empty()) return not_known(what, "nothing has two samples", "more samples tell");
  const std::vector<double> intervals = of_all_times(input, half_interval);
  std::string seen = "samples spread by " + middle_and_worst(spreads);
  if (!intervals.empty()) seen += "; medians are known to ± " + middle_and_worst(intervals);
  const bool calm =
      median(spreads) < much_noise && (intervals.empty() || median(intervals) < much_noise);
  return {what, calm ? "ok" : "look", seen,
          "1.4826 MAD / median; half the 95 % interval of a median",
          calm ? Tone::good : Tone::caution};
}

TrustRow between_runs_row(const ReportInput& input) {
  const std::string what = "Noise between runs";
  std::map<std::string, std::vector<double>> medians;  // by question
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) {
      const Series* times = times_of(row);
      if (times == nullptr) continue;
      Measurement question;
      question.benchmark = row.benchmark;
      question.axes = row.axes;
      question.axes.erase("repeat");
      const Environment& environment = file.header.environment;
      medians[environment.host_hash + " " + environment.commit + " " + question.key()].push_back(
          times->summary.median);
    }
  }
  std::vector<double> spreads;
  for (const auto& [question, values] : medians) {
    if (values.size() < 2) continue;
    const auto [least, most] = std::ranges::minmax(values);
    spreads.push_back((most - least) / median(values));
  }
  if (spreads.empty()) {
    return not_known(what, "nothing was measured twice",
                     "two runs differ by more than their intervals say; repeat what matters");
  }
  const bool calm = median(spreads) < much_noise;
  return {what, calm ? "ok" : "look",
          fmt::format("{} measured more than once: from the least to the greatest median {}",
                      counted(static_cast<long long>(spreads.size()), "question"),
                      middle_and_worst(spreads)),
          "smaller differences between two lines of this page are no findings",
          calm ? Tone::good : Tone::caution};
}

TrustRow neighbours_row(const ReportInput& input) {
  const std::string what = "Samples beside each other";
  const std::vector<double> all = of_all_times(input, autocorrelation);
  if (all.empty()) {
    return not_known(what, "nothing has eight samples", "more samples tell whether they drift");
  }
  constexpr double much = 0.5;
  const double middle = median(all);
  return {what, middle < much ? "ok" : "look",
          fmt::format("rank correlation of a sample with the next {:.2f} in the middle", middle),
          middle < much ? "intervals hold as far as this goes"
                        : "the machine drifted while it measured: intervals are too narrow",
          middle < much ? Tone::good : Tone::caution};
}

/// Of two medians with the standard error s each, their difference shows with power 0.8 at the
/// level 0.05 from (1.960 + 0.842) √2 s on, and s is half the 95 % interval over 1.960.
TrustRow smallest_row(const ReportInput& input) {
  const std::string what = "Smallest change that shows";
  if (!input.noise.empty()) {
    std::string seen;
    for (const NoiseFinding& finding : input.noise) {
      seen += fmt::format("{}{} ({}, {})", seen.empty() ? "" : "; ", finding.sentence,
                          finding.machine, finding.date);
    }
    return {what, "ok", seen, "by a study of interleaved runs (dlscale noise)", Tone::good};
  }
  const std::vector<double> intervals = of_all_times(input, half_interval);
  if (intervals.empty()) {
    return not_known(what, "nothing has six samples", "dlscale noise tells it of this machine");
  }
  const double smallest = (1.960 + 0.842) * std::sqrt(2.0) / 1.960;
  std::vector<double> changes;
  changes.reserve(intervals.size());
  for (const double half : intervals) changes.push_back(smallest * half);
  return {
      what, "at least", "from run to run, with power 0.8: " + middle_and_worst(changes),
      "of the noise within a run alone; that between runs comes on top: dlscale noise tells it, "
      "and its JSON as noise.json beside the results stands here",
      Tone::plain};
}

}  // namespace dlscale::report
