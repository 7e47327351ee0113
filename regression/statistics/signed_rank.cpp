#include "regression/statistics/signed_rank.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/error.hpp"

namespace dlscale::regression {
namespace {

/// P(W = w) for n = 0, 1, … by the recursion, each step halved.
std::vector<double> probabilities(std::size_t n) {
  std::vector<double> now(n * (n + 1) / 2 + 1, 0.0);
  now[0] = 1;
  std::size_t largest = 0;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    largest += rank;
    for (std::size_t w = largest + 1; w-- > rank;) now[w] = (now[w] + now[w - rank]) / 2;
    for (std::size_t w = 0; w < rank; ++w) now[w] /= 2;
  }
  return now;
}

std::size_t count_above(std::span<const double> sorted, double value) {
  return static_cast<std::size_t>(
      std::distance(std::ranges::upper_bound(sorted, value), sorted.end()));
}

std::size_t count_below(std::span<const double> sorted, double value) {
  return static_cast<std::size_t>(
      std::distance(sorted.begin(), std::ranges::lower_bound(sorted, value)));
}

}  // namespace

SignedRankDistribution::SignedRankDistribution(std::size_t n) : n_(n) {
  EXPECT(n >= 1 && n <= 1000);
  up_to_ = probabilities(n);
  for (std::size_t w = 1; w < up_to_.size(); ++w) up_to_[w] += up_to_[w - 1];
}

double SignedRankDistribution::at_least(std::size_t w) const {
  // By symmetry P(W ≥ w) = P(W ≤ largest − w), which keeps small probabilities exact.
  const std::size_t largest = up_to_.size() - 1;
  if (w == 0) return 1;
  return w > largest ? 0 : up_to_[largest - w];
}

long SignedRankDistribution::critical(double alpha) const {
  return std::distance(up_to_.begin(), std::ranges::upper_bound(up_to_, alpha)) - 1;
}

std::vector<double> walsh_averages(std::span<const double> differences) {
  std::vector<double> averages;
  averages.reserve(differences.size() * (differences.size() + 1) / 2);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    averages.push_back(differences[i]);
    for (std::size_t j = i + 1; j < differences.size(); ++j) {
      averages.push_back((differences[i] + differences[j]) / 2);
    }
  }
  std::ranges::sort(averages);
  return averages;
}

Bounds signed_rank_bounds(std::span<const double> averages,
                          const SignedRankDistribution& distribution, double alpha) {
  const std::size_t n = distribution.sample_size();
  EXPECT(averages.size() == n * (n + 1) / 2);
  const long trim = distribution.critical(alpha);
  if (trim < 0 || 2 * (static_cast<std::size_t>(trim) + 1) > averages.size() + 1) return {};
  const auto at = static_cast<std::size_t>(trim);
  return {averages[at], averages[averages.size() - 1 - at]};
}

double signed_rank_p_above(std::span<const double> averages,
                           const SignedRankDistribution& distribution, double value) {
  return distribution.at_least(count_above(averages, value));
}

double signed_rank_p_below(std::span<const double> averages,
                           const SignedRankDistribution& distribution, double value) {
  return distribution.at_least(count_below(averages, value));
}

}  // namespace dlscale::regression
