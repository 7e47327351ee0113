#include "model/sgd_iter/cluster/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// A number in (0, 1], of 53 bits. It avoids the library's distributions, which differ between
/// libraries.
double uniform(std::mt19937_64& random) {
  return static_cast<double>((random() >> 11U) + 1) * 0x1p-53;
}

double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

}  // namespace

Seconds expected_slowest(Seconds mean, const RankSpread& spread, std::int64_t workers) {
  EXPECT(std::isfinite(mean.si()) && mean > Seconds());
  EXPECT(std::isfinite(spread.deviation) && spread.deviation >= 0);
  const double s = std::sqrt(std::log1p(spread.deviation * spread.deviation));
  return mean * expected_log_normal_maximum(workers, s);
}

ComputeFactors::ComputeFactors(std::size_t ranks, std::vector<double> values)
    : ranks_(ranks), values_(std::move(values)) {
  EXPECT(!values_.empty());
  EXPECT(std::ranges::all_of(values_, [](double f) { return std::isfinite(f) && f > 0; }));
}

ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                             std::uint64_t seed) {
  EXPECT(ranks >= 1 && iterations >= 1);
  EXPECT(spread.deviation >= 0 && spread.deviation <= most_deviation);
  std::mt19937_64 random(seed);
  const double variance = std::log1p(spread.deviation * spread.deviation);
  std::vector<double> values(static_cast<std::size_t>(ranks) * iterations);
  for (double& value : values) {
    value = std::exp(std::sqrt(variance) * normal(random) - variance / 2);
  }
  return {static_cast<std::size_t>(ranks), std::move(values)};
}

}  // namespace dlscale::model
