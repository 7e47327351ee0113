#include "model/published/cold/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/levenberg.hpp"
#include "model/fits/piecewise.hpp"
#include "model/published/scaling/fit/interval.hpp"

namespace dlscale::model::cold {
namespace {

constexpr std::size_t term_count = 4;
using Terms = std::array<double, term_count>;

constexpr Terms usual{-2.4, 0.4, 0.1, 0.3};
constexpr Terms spread{1.0, 0.3, 0.3, 0.3};
constexpr double hold = 1.0 / 300;  // weight of the priors beside errors of weight 1

/// Student's interval of one more member of a sample of `count` ≥ 2, over that of the sample where
/// its deviation is known: t(0.95, n - 1) / z √(1 + 1/n), t by the first terms of its expansion in
/// 1/(n - 1) [Abramowitz & Stegun 26.7.5].
double for_one_more(double count) {
  constexpr double z = deviations_of_90;
  const double v = count - 1;
  const double first = (std::pow(z, 3) + z) / 4;
  const double second = (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96;
  return (1 + (first + second / v) / (v * z)) * std::sqrt(1 + 1 / count);
}

Terms features(const ColdError& error) {
  return {1, error.half ? 1.0 : 0.0, error.attention ? 1.0 : 0.0, error.old ? 1.0 : 0.0};
}

double log_scale(const ColdError& error, const Terms& terms) {
  const Terms of = features(error);
  double sum = 0;
  for (std::size_t i = 0; i < term_count; ++i) sum += of[i] * terms[i];
  return sum;
}

/// A step of Newton's method, whose sum is convex.
Terms next(std::span<const ColdError> errors, double weights, const Terms& terms) {
  std::vector<double> g(term_count);
  std::vector<double> H(term_count * term_count);
  for (std::size_t i = 0; i < term_count; ++i) {
    g[i] = 2 * hold * (terms[i] - usual[i]) / (spread[i] * spread[i]);
    H[i * term_count + i] = 2 * hold / (spread[i] * spread[i]);
  }
  for (const ColdError& error : errors) {
    const Terms of = features(error);
    const double weight = error.weight / weights;
    const double size = std::abs(error.log_ratio) * std::exp(-log_scale(error, terms));
    for (std::size_t i = 0; i < term_count; ++i) {
      g[i] += weight * of[i] * (1 - size);
      for (std::size_t j = 0; j < term_count; ++j) {
        H[i * term_count + j] += weight * of[i] * of[j] * size;
      }
    }
  }
  const std::vector<double> step = damped_step(H, g, 0);
  Terms found = terms;
  for (std::size_t i = 0; i < term_count; ++i) found[i] += std::clamp(step[i], -0.5, 0.5);
  return found;
}

}  // namespace

void fit_interval(std::span<const ColdError> errors, sheet::KernelConstants& constants) {
  double weights = 0;
  for (const ColdError& error : errors) weights += error.weight;
  EXPECT(weights > 1.5);
  Terms terms = usual;
  for (int round = 0; round < 100; ++round) terms = next(errors, weights, terms);
  std::vector<scaling::Weighted> scaled;
  for (const ColdError& error : errors) {
    scaled.push_back({error.log_ratio * std::exp(-log_scale(error, terms)), error.weight});
  }
  constants.interval_always = terms[0];
  constants.interval_half = terms[1];
  constants.interval_sequences = terms[2];
  constants.interval_old = terms[3];
  const double wider = for_one_more(weights);
  constants.interval_low = std::min(wider * scaling::weighted_quantile(scaled, 0.05), -0.1);
  constants.interval_high = std::max(wider * scaling::weighted_quantile(scaled, 0.95), 0.1);
}

}  // namespace dlscale::model::cold
