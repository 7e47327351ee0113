#include "bench/engine/sampler_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/engine/benchmark.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

// The range of at least six samples covers the median with probability 1 - 2 / 2^6 > 95 %.
constexpr std::size_t least_for_interval = 6;

// Fewest samples for a correlation; neighbours of fewer resemble each other too often by chance.
constexpr std::size_t least_for_correlation = 20;

/// Warns of a wide interval. Returns whether it did.
bool warn_of_width(std::span<const double> samples, double wanted, std::vector<std::string>& to) {
  const double width = relative_half_width(summarize(samples));
  if (width <= wanted) return false;
  to.push_back(fmt::format(
      "the interval of the median is ±{:.1f} % after {} samples (±{:.1f} % was asked for). Stop "
      "other programs, or allow more time ({}).",
      100 * width, samples.size(), 100 * wanted, option_name("max_time")));
  return true;
}

/// Correlation of neighbouring samples in being above or below the median, as the interval of the
/// median follows from the number of samples above it. 0 if all are equal.
double correlation_of_neighbours(std::span<const double> samples, double middle) {
  const auto side = [middle](double sample) {
    return static_cast<double>(sample > middle) - static_cast<double>(sample < middle);
  };
  double pairs = 0;
  double squares = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    squares += side(samples[i]) * side(samples[i]);
    if (i > 0) pairs += side(samples[i - 1]) * side(samples[i]);
  }
  return squares > 0 ? pairs / squares : 0;
}

/// Warns if neighbouring samples are correlated and the interval is only therefore narrow. n
/// samples are worth n (1 - r) / (1 + r) independent ones if the correlation r decays geometrically
/// (a first-order process). r counts if it exceeds three times its standard deviation without
/// correlation.
void warn_of_correlation(std::span<const double> samples, double wanted,
                         std::vector<std::string>& to) {
  if (samples.size() < least_for_correlation) return;
  const auto n = static_cast<double>(samples.size());
  const Summary summary = summarize(samples);
  const double r = correlation_of_neighbours(samples, summary.median);
  if (r < 3 / std::sqrt(n)) return;
  const double alike = std::max(1.0, n * (1 - r) / (1 + r));
  const double range = (summary.max - summary.min) / (2 * summary.median);
  const double width = std::min(relative_half_width(summary) * std::sqrt(n / alike), range);
  if (width <= wanted) return;
  to.push_back(fmt::format(
      "neighbouring times resemble each other (correlation {:.2f}): {} samples tell as much of the "
      "median as {:.0f} would, whose interval is about ±{:.1f} % (±{:.1f} % was asked for). "
      "Measure again with other programs stopped, or ask for a narrower interval ({}).",
      r, samples.size(), alike, 100 * width, 100 * wanted, option_name("precision")));
}

/// Warns of a drift. Returns whether it did.
bool warn_of_drift(std::span<const double> samples, double wanted, std::vector<std::string>& to) {
  const std::size_t half = samples.size() / 2;
  if (half < least_for_interval) return false;
  const Summary first = summarize(samples.first(half));
  const Summary second = summarize(samples.last(half));
  const bool apart = first.ci95_high < second.ci95_low || second.ci95_high < first.ci95_low;
  const double change = second.median / first.median - 1;
  if (!apart || std::abs(change) <= wanted) return false;
  to.push_back(fmt::format(
      "times drift: the second half of the samples is {:+.1f} % against the first. The machine was "
      "not in a steady state; warm up longer, or wait until clocks and load have settled.",
      100 * change));
  return true;
}

}  // namespace

std::vector<std::string> sampling_warnings(std::span<const double> samples, double wanted) {
  std::vector<std::string> warnings;
  if (samples.size() < least_for_interval) {
    warnings.push_back(fmt::format(
        "only {} samples: below {} the median has no 95 % interval, and the range stands in "
        "for it. Take more samples.",
        samples.size(), least_for_interval));
  }
  const bool wide = warn_of_width(samples, wanted, warnings);
  const bool drifts = warn_of_drift(samples, wanted, warnings);
  if (!wide && !drifts) warn_of_correlation(samples, wanted, warnings);
  return warnings;
}

void mark_if_unstable(Measurement& measurement, const Summary& time, double wanted) {
  if (relative_half_width(time) <= wanted) return;
  measurement.status = Status::unstable;
  measurement.reason =
      fmt::format("the 95 % interval of the median is still wider than ±{:.3g} % after {} samples",
                  100 * wanted, time.n);
}

}  // namespace dlscale::bench
