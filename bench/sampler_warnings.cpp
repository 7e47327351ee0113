#include "bench/sampler_warnings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/statistics.hpp"

namespace dlscale::bench {
namespace {

// From six samples on, the range covers the median with probability 1 - 2 / 2^6 > 95 %.
constexpr std::size_t least_for_interval = 6;

void warn_of_width(std::span<const double> samples, double wanted, std::vector<std::string>& to) {
  const double width = relative_half_width(summarize(samples));
  if (width <= wanted) return;
  to.push_back(fmt::format(
      "the interval of the median is ±{:.1f} % after {} samples (±{:.1f} % was asked for). Stop "
      "other programs, or allow more time with --max-time.",
      100 * width, samples.size(), 100 * wanted));
}

void warn_of_drift(std::span<const double> samples, double wanted, std::vector<std::string>& to) {
  const std::size_t half = samples.size() / 2;
  if (half < least_for_interval) return;
  const Summary first = summarize(samples.first(half));
  const Summary second = summarize(samples.last(half));
  const bool apart = first.ci95_high < second.ci95_low || second.ci95_high < first.ci95_low;
  const double change = second.median / first.median - 1;
  if (!apart || std::abs(change) <= wanted) return;
  to.push_back(fmt::format(
      "times drift: the second half of the samples is {:+.1f} % against the first. The machine was "
      "not in a steady state; warm up longer, or wait until clocks and load have settled.",
      100 * change));
}

}  // namespace

std::vector<std::string> sampling_warnings(std::span<const double> samples, double wanted) {
  std::vector<std::string> warnings;
  if (samples.size() < least_for_interval) {
    warnings.push_back(fmt::format(
        "only {} samples: below {} there is no 95 % interval of the median, the range stands in "
        "for it. Take more samples.",
        samples.size(), least_for_interval));
  }
  warn_of_width(samples, wanted, warnings);
  warn_of_drift(samples, wanted, warnings);
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
