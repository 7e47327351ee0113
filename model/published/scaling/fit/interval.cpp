#include "model/published/scaling/fit/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/published/scaling/fit/fit.hpp"

namespace dlscale::model::scaling {
namespace {

constexpr std::size_t parts = 6;
using Parts = std::array<double, parts>;
constexpr Parts usual = {0.02, 0.15, 0.1, 0.02, 0.1, 0.05};
constexpr double hold = 1e-3;  // weight of the usual parts beside errors of weight 1

/// The scale of repeated measurements on one machine: sources state a noise of 0.2 % in the median
/// and above 0.6 % in one case of ten. [a judgement]
constexpr double repetition = 0.005;

/// The factors of the parts of the scale.
Parts features(const ScaledTime& time, const TrainingFacts& facts) {
  const Seconds hidden = std::max(time.communication - time.transfer, Seconds());
  Parts each = {1,
                time.overhead,
                facts.batch < 0.3 * facts.given_batch ? 1.0 : 0.0,
                facts.asked.nodes > 1 ? 1.0 : 0.0,
                std::min(time.in_doubt / time.total, 1.0),
                std::min(hidden / time.total, 1.0)};
  for (double& part : each) part *= time.differs;
  return each;
}

/// The properties of a case that its error depends on.
struct Circumstances {
  double shifted = 0;   ///< factor of the shift
  double repeated = 0;  ///< scale without any part
  Parts of = {};
};

Circumstances circumstances(const ScaledTime& time, const TrainingFacts& facts) {
  return {time.differs * (1 - time.overhead), (1 - time.differs) * repetition,
          features(time, facts)};
}

double scale_of(const Circumstances& at, const Parts& each) {
  return std::inner_product(at.of.begin(), at.of.end(), each.begin(), at.repeated);
}

Parts parts_of(const ErrorModel& errors) {
  return {errors.base,     errors.of_overhead, errors.of_small_batch,
          errors.of_nodes, errors.of_doubt,    errors.of_hidden};
}

/// The logarithm of an error, with its weight.
struct Miss {
  double log_ratio;
  double weight;  ///< the sum over all is 1
  Circumstances at;
};

std::vector<Miss> misses_of(std::span<const LeftOut> left_out) {
  double sum = 0;
  for (const LeftOut& one : left_out) sum += one.weight;
  std::vector<Miss> misses;
  for (const LeftOut& one : left_out) {
    EXPECT(one.facts != nullptr && one.weight > 0);
    EXPECT(one.measured > Seconds() && one.predicted.total > Seconds());
    const double log_ratio = std::log(one.measured / one.predicted.total);
    misses.push_back({log_ratio, one.weight / sum, circumstances(one.predicted, *one.facts)});
  }
  return misses;
}

/// The shift that minimises Σ w 2 (√(1 + z²) − 1) for a scale, by weighted means.
double best_shift(const std::vector<Miss>& misses, const Parts& each) {
  double shift = 0;
  for (int round = 0; round < 50; ++round) {
    double numerator = 0;
    double denominator = 0;
    for (const Miss& miss : misses) {
      const double s = scale_of(miss.at, each);
      const double z = (miss.log_ratio - shift * miss.at.shifted) / s;
      const double weight = miss.weight / (s * s * std::sqrt(1 + z * z));
      numerator += weight * miss.at.shifted * miss.log_ratio;
      denominator += weight * miss.at.shifted * miss.at.shifted;
    }
    if (!(denominator > 0)) return 0;
    const double next = numerator / denominator;
    const bool is_there = std::abs(next - shift) < 1e-12;
    shift = next;
    if (is_there) break;
  }
  return shift;
}

/// The sum that the fit minimises, by ln of the parts.
double unlikelihood(const std::vector<Miss>& misses, double shift, const Parts& each) {
  double sum = 0;
  for (const Miss& miss : misses) {
    const double s = scale_of(miss.at, each);
    const double error = std::abs(miss.log_ratio - shift * miss.at.shifted);
    sum += miss.weight * (std::log(s) + error / s);
  }
  for (std::size_t i = 0; i < parts; ++i) {
    const double off = std::log(each[i] / usual[i]);
    sum += hold * off * off;
  }
  return sum;
}

/// A step in ln of the parts by Fisher's scoring. If errors follow the scale, the second
/// derivatives are Σ w q qᵀ with q = ∂ ln s.
std::vector<double> scoring_step(const std::vector<Miss>& misses, double shift, const Parts& each) {
  std::vector<double> g(parts);
  std::vector<double> H(parts * parts);
  for (std::size_t i = 0; i < parts; ++i) {
    g[i] = 2 * hold * std::log(each[i] / usual[i]);
    H[i * parts + i] = 2 * hold;
  }
  for (const Miss& miss : misses) {
    const double s = scale_of(miss.at, each);
    const double error = std::abs(miss.log_ratio - shift * miss.at.shifted);
    for (std::size_t i = 0; i < parts; ++i) {
      const double q = each[i] * miss.at.of[i] / s;
      g[i] += miss.weight * (1 - error / s) * q;
      for (std::size_t j = 0; j < parts; ++j) {
        H[i * parts + j] += miss.weight * q * each[j] * miss.at.of[j] / s;
      }
    }
  }
  return damped_step(H, g, 0);
}

/// Likelier parts than `each` for the shift, by the first of ever shorter steps that is better;
/// `each` if none is.
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

/// The effective number n = (Σ w)² / Σ w² of errors with equal weights.
double effective_number(const std::vector<Miss>& misses) {
  double squares = 0;
  for (const Miss& miss : misses) squares += miss.weight * miss.weight;
  return 1 / squares;
}

/// The shortest interval between quantiles that holds this share. Effects that slow training down
/// make errors lopsided, so that an interval with equal tails would be longer.
std::pair<double, double> shortest(const std::vector<Weighted>& values, double share) {
  constexpr int steps = 20;
  std::pair<double, double> best;
  for (int i = 0; i <= steps; ++i) {
    const double below = (1 - share) * i / steps;
    const double low = weighted_quantile(values, below);
    const double high = weighted_quantile(values, below + share);
    if (i == 0 || high - low < best.second - best.first) best = {low, high};
  }
  return best;
}

}  // namespace

IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors) {
  const Circumstances at = circumstances(time, facts);
  const double s = scale_of(at, parts_of(errors));
  const Seconds value = std::exp(errors.shift * at.shifted) * time.total;
  return {std::exp(errors.low * s) * value, value, std::exp(errors.high * s) * value};
}

ErrorModel fit_errors(std::span<const LeftOut> left_out) {
  EXPECT(!left_out.empty());
  const std::vector<Miss> misses = misses_of(left_out);
  Parts each = usual;
  double shift = best_shift(misses, each);
  for (int round = 0; round < 200; ++round) {
    const Parts before = each;
    each = likelier(misses, shift, each);
    const double old_shift = shift;
    shift = best_shift(misses, each);
    double change = std::abs(shift - old_shift);
    for (std::size_t i = 0; i < parts; ++i) change += std::abs(std::log(each[i] / before[i]));
    if (change < 1e-9) break;
  }
  std::vector<Weighted> scaled;
  for (const Miss& miss : misses) {
    const double error = miss.log_ratio - shift * miss.at.shifted;
    scaled.push_back({error / scale_of(miss.at, each), miss.weight});
  }
  const auto [low, high] =
      shortest(scaled, std::min(0.9 * (1 + 1 / effective_number(misses)), 1.0));
  return {shift,
          each[0],
          each[1],
          each[2],
          each[3],
          each[4],
          each[5],
          std::min(low, -0.1),
          std::max(high, 0.1)};
}

}  // namespace dlscale::model::scaling
