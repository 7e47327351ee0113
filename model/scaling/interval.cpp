#include "model/scaling/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "model/scaling/damped_step.hpp"
#include "model/scaling/weighted_quantile.hpp"

namespace dlscale::model::scaling {
namespace {

constexpr std::size_t parts = 4;
using Parts = std::array<double, parts>;
constexpr Parts usual = {0.02, 0.15, 0.1, 0.02};
constexpr double hold = 1e-3;  // how little the usual parts count beside errors of weight 1

/// What the parts of the scale are multiplied by.
Parts features(const ScaledTime& time, const TrainingFacts& facts) {
  const bool small_batch = facts.batch < 0.3 * facts.given_batch;
  return {1, time.overhead, small_batch ? 1.0 : 0.0, facts.asked.nodes > 1 ? 1.0 : 0.0};
}

double scale_of(const Parts& of, const Parts& each) {
  return std::inner_product(of.begin(), of.end(), each.begin(), 0.0);
}

/// By what the shift is multiplied.
double shifted_share(const ScaledTime& time) {
  return 1 - time.overhead;
}

Parts parts_of(const ErrorModel& errors) {
  return {errors.base, errors.of_overhead, errors.of_small_batch, errors.of_nodes};
}

/// An error, as its logarithm, and what its distribution depends on.
struct Miss {
  double log_ratio;
  double weight;  ///< the sum over all is 1
  double shifted;
  Parts of;
};

std::vector<Miss> misses_of(std::span<const LeftOut> left_out) {
  double sum = 0;
  for (const LeftOut& one : left_out) sum += one.weight;
  std::vector<Miss> misses;
  for (const LeftOut& one : left_out) {
    EXPECT(one.facts != nullptr && one.weight > 0);
    EXPECT(one.measured > Seconds() && one.predicted.total > Seconds());
    const double log_ratio = std::log(one.measured / one.predicted.total);
    misses.push_back({log_ratio, one.weight / sum, shifted_share(one.predicted),
                      features(one.predicted, *one.facts)});
  }
  return misses;
}

/// The likeliest shift for a scale: a weighted median.
double likeliest_shift(const std::vector<Miss>& misses, const Parts& each) {
  std::vector<Weighted> shifts;
  for (const Miss& miss : misses) {
    const double weight = miss.weight * miss.shifted / scale_of(miss.of, each);
    shifts.push_back({miss.log_ratio / miss.shifted, weight});
  }
  return weighted_quantile(std::move(shifts), 0.5);
}

/// The sum that is to be least, by ln of the parts.
double unlikelihood(const std::vector<Miss>& misses, double shift, const Parts& each) {
  double sum = 0;
  for (const Miss& miss : misses) {
    const double s = scale_of(miss.of, each);
    const double error = std::abs(miss.log_ratio - shift * miss.shifted);
    sum += miss.weight * (std::log(s) + error / s);
  }
  for (std::size_t i = 0; i < parts; ++i) {
    const double off = std::log(each[i] / usual[i]);
    sum += hold * off * off;
  }
  return sum;
}

/// A step of ln of the parts by Fisher's scoring: where errors are as the scale says, the second
/// derivatives are Σ w q qᵀ with q = ∂ ln s.
std::vector<double> scoring_step(const std::vector<Miss>& misses, double shift, const Parts& each) {
  std::vector<double> g(parts);
  std::vector<double> H(parts * parts);
  for (std::size_t i = 0; i < parts; ++i) {
    g[i] = 2 * hold * std::log(each[i] / usual[i]);
    H[i * parts + i] = 2 * hold;
  }
  for (const Miss& miss : misses) {
    const double s = scale_of(miss.of, each);
    const double error = std::abs(miss.log_ratio - shift * miss.shifted);
    for (std::size_t i = 0; i < parts; ++i) {
      const double q = each[i] * miss.of[i] / s;
      g[i] += miss.weight * (1 - error / s) * q;
      for (std::size_t j = 0; j < parts; ++j) {
        H[i * parts + j] += miss.weight * q * each[j] * miss.of[j] / s;
      }
    }
  }
  return damped_step(H, g, 0);
}

/// Parts that are likelier than `each` for the shift, by the first of ever shorter steps; the same
/// if none is.
Parts likelier(const std::vector<Miss>& misses, double shift, const Parts& each) {
  const std::vector<double> step = scoring_step(misses, shift, each);
  const double here = unlikelihood(misses, shift, each);
  for (double length = 1; length > 1e-6; length /= 2) {
    Parts there = each;
    for (std::size_t i = 0; i < parts; ++i) {
      there[i] *= std::exp(std::clamp(length * step[i], -1.0, 1.0));
    }
    if (unlikelihood(misses, shift, there) < here) return there;
  }
  return each;
}

/// n = (Σ w)² / Σ w², as many as equal weights would be.
double effective_number(const std::vector<Miss>& misses) {
  double squares = 0;
  for (const Miss& miss : misses) squares += miss.weight * miss.weight;
  return 1 / squares;
}

}  // namespace

IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors) {
  const double s = scale_of(features(time, facts), parts_of(errors));
  const Seconds value = std::exp(errors.shift * shifted_share(time)) * time.total;
  return {std::exp(errors.low * s) * value, value, std::exp(errors.high * s) * value};
}

ErrorModel fit_errors(std::span<const LeftOut> left_out) {
  EXPECT(!left_out.empty());
  const std::vector<Miss> misses = misses_of(left_out);
  Parts each = usual;
  double shift = likeliest_shift(misses, each);
  for (int round = 0; round < 200; ++round) {
    const Parts before = each;
    each = likelier(misses, shift, each);
    const double old_shift = shift;
    shift = likeliest_shift(misses, each);
    double change = std::abs(shift - old_shift);
    for (std::size_t i = 0; i < parts; ++i) change += std::abs(std::log(each[i] / before[i]));
    if (change < 1e-9) break;
  }
  std::vector<Weighted> scaled;
  for (const Miss& miss : misses) {
    const double error = miss.log_ratio - shift * miss.shifted;
    scaled.push_back({error / scale_of(miss.of, each), miss.weight});
  }
  const double level = std::min(0.95 * (1 + 1 / effective_number(misses)), 1.0);
  const double low = weighted_quantile(scaled, 1 - level);
  const double high = weighted_quantile(scaled, level);
  return {shift, each[0], each[1], each[2], each[3], std::min(low, -0.1), std::max(high, 0.1)};
}

}  // namespace dlscale::model::scaling
