#include "app/suite/cells/canary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::app {
namespace {

using Clock = std::chrono::steady_clock;

/// The array fits into the caches of one core, so the time shows only that core and its other
/// users.
constexpr std::size_t numbers = 4096;
constexpr int passes = 64;
constexpr int repetitions = 5;

/// Repeats x ← a x + b, which contracts to b / (1 - a), so that values stay finite and normal.
double kernel(std::vector<double>& values) {
  double sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (double& value : values) value = 0.5 * value + 1.0;
    sum += values[static_cast<std::size_t>(pass)];
  }
  return sum;
}

Seconds least_time(std::vector<double>& values) {
  double least = INFINITY;
  double sum = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    sum += kernel(values);
    const double time = std::chrono::duration<double>(Clock::now() - start).count();
    least = std::min(least, time);
  }
  if (!std::isfinite(sum)) throw WrongResult("the canary's kernel does not compute what it should");
  return Seconds(least);
}

CanaryShift judge(const std::vector<double>& logarithms) {
  const Summary summary = summarize(logarithms);
  const double margin = std::log1p(canary_margin);
  return {.shift = summary.median,
          .low = summary.ci95_low,
          .high = summary.ci95_high,
          .alarm = summary.ci95_low > margin || summary.ci95_high < -margin};
}

std::string percent(double logarithm) {
  return signed_percent(std::expm1(logarithm));
}

}  // namespace

std::vector<CanaryPair> run_canary() {
  std::vector<double> values(numbers, 1.0);
  (void)least_time(values);  // warms up caches and clocks
  std::vector<CanaryPair> pairs;
  for (std::size_t i = 0; i < canary_pairs; ++i) {
    const Seconds first = least_time(values);
    pairs.push_back({first, least_time(values)});
  }
  return pairs;
}

CanaryShift judge_pairs(std::span<const CanaryPair> pairs) {
  EXPECT(pairs.size() == canary_pairs);
  std::vector<double> logarithms;
  for (const CanaryPair& pair : pairs) {
    logarithms.push_back(std::log(pair.second.si() / pair.first.si()));
  }
  return judge(logarithms);
}

CanaryShift judge_drift(std::span<const CanaryPair> before, std::span<const CanaryPair> after) {
  EXPECT(before.size() == canary_pairs && after.size() == canary_pairs);
  std::vector<double> logarithms;
  for (std::size_t i = 0; i < before.size(); ++i) {
    logarithms.push_back(std::log(after[i].first.si() / before[i].first.si()));
    logarithms.push_back(std::log(after[i].second.si() / before[i].second.si()));
  }
  return judge(logarithms);
}

std::string to_text(const CanaryShift& verdict) {
  return fmt::format("the same kernel {} [{}, {}]", percent(verdict.shift), percent(verdict.low),
                     percent(verdict.high));
}

}  // namespace dlscale::app
