#include "model/sgd_iter/cluster/compute_factors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

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

double draw(const RankSpread& spread, std::mt19937_64& random) {
  switch (spread.shape) {
    case SpreadShape::normal:
      return 1 + spread.deviation * normal(random);
    case SpreadShape::log_normal: {
      const double variance = std::log1p(spread.deviation * spread.deviation);
      return std::exp(std::sqrt(variance) * normal(random) - variance / 2);
    }
    case SpreadShape::exponential:
      return 1 - spread.deviation - spread.deviation * std::log(uniform(random));
  }
  fail_expectation("a shape of the enumeration");
}

}  // namespace

ComputeFactors::ComputeFactors(std::vector<double> by_rank)
    : ranks_(by_rank.size()), values_(std::move(by_rank)) {
  EXPECT(!values_.empty());
  EXPECT(std::ranges::all_of(values_, [](double f) { return std::isfinite(f) && f > 0; }));
}

double ComputeFactors::mean(int ranks, std::size_t iterations) const {
  EXPECT(ranks >= 1 && iterations >= 1);
  double sum = 0;
  for (std::size_t k = 0; k < iterations; ++k) {
    for (Rank rank = 0; rank < ranks; ++rank) sum += at(rank, k);
  }
  return sum / ranks / static_cast<double>(iterations);
}

double most_deviation(SpreadShape shape) {
  switch (shape) {
    case SpreadShape::normal:
      return 0.1;
    case SpreadShape::log_normal:
      return 10;
    case SpreadShape::exponential:
      return 1;
  }
  fail_expectation("a shape of the enumeration");
}

ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                             std::uint64_t seed) {
  EXPECT(ranks >= 1 && iterations >= 1 && spread.together >= 1);
  EXPECT(spread.deviation >= 0 && spread.deviation <= most_deviation(spread.shape));
  std::mt19937_64 random(seed);
  ComputeFactors factors;
  factors.ranks_ = static_cast<std::size_t>(ranks);
  factors.values_.clear();
  factors.values_.reserve(factors.ranks_ * iterations);
  double unit = 1;
  for (std::size_t k = 0; k < iterations; ++k) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (rank % spread.together == 0) unit = draw(spread, random);
      factors.values_.push_back(unit);
    }
  }
  return factors;
}

}  // namespace dlscale::model
