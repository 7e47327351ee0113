#include "model/published/scaling/fit/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/levenberg.hpp"

namespace dlscale::model::scaling {
namespace {

constexpr std::size_t parts = error_part_count;
using Parts = ErrorParts;
constexpr Parts usual = {0.02, 0.15, 0.1, 0.02, 0.1, 0.05, 0.05, 0.01, 0.01, 0.02, 0.1};
constexpr double hold = 1e-3;  // weight of the usual parts beside errors of weight 1

constexpr std::array<std::string_view, parts> names = {
    "base",     "overhead",  "small_batch", "nodes",  "doubt",  "hidden",
    "messages", "precision", "input",       "uneven", "waiting"};

/// The scale of repeated measurements on one machine: sources state a noise of 0.2 % in the median
/// and above 0.6 % in one case of ten. [a judgement]
constexpr double repetition = 0.005;

/// The scale of errors for the shift.
constexpr double shift_scale = 0.03;

/// The factors of the parts of the scale.
Parts features(const ScaledTime& time, const TrainingFacts& facts) {
  EXPECT(time.slower > Seconds());  // by ScalingModel::judged()
  const Seconds hidden = std::max(time.communication - time.transfer, Seconds());
  Parts each = {1,
                time.overhead,
                facts.batch < 0.3 * facts.given_batch ? 1.0 : 0.0,
                facts.asked.nodes > 1 ? 1.0 : 0.0,
                std::min(time.in_doubt / time.total, 1.0),
                std::min(hidden / time.total, 1.0),
                std::log(std::max(time.slower / time.total, 1.0)),
                facts.half_precision ? 1.0 : 0.0,
                facts.synthetic_input ? 0.0 : 1.0,
                facts.uneven_samples ? 1.0 : 0.0,
                std::min((time.waiting + time.copies) / time.total, 1.0)};
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

/// The parts of both scales.
struct Scales {
  Parts early = usual;
  Parts late = usual;
};

/// The scale on the side of an error.
double scale_at(const Circumstances& at, const Scales& scales, double error) {
  return scale_of(at, error < 0 ? scales.early : scales.late);
}

/// The circumstances, with a scale that is `factor` times as large.
Circumstances widened(Circumstances at, double factor) {
  at.repeated *= factor;
  for (double& part : at.of) part *= factor;
  return at;
}

/// The logarithm of an error, with its weight.
struct Miss {
  double log_ratio;
  double weight;  ///< the sum over all is 1
  Circumstances at;
  bool by_input = false;  ///< late, but no later than slow_input()
};

std::vector<Miss> misses_of(std::span<const LeftOut> left_out) {
  double sum = 0;
  for (const LeftOut& one : left_out) sum += one.weight;
  std::vector<Miss> misses;
  for (const LeftOut& one : left_out) {
    EXPECT(one.facts != nullptr && one.weight > 0);
    EXPECT(one.measured > Seconds() && one.predicted.total > Seconds());
    const double log_ratio = std::log(one.measured / one.predicted.total);
    const bool by_input = log_ratio > 0 && one.measured <= slow_input(*one.facts);
    misses.push_back({log_ratio, one.weight / sum,
                      widened(circumstances(one.predicted, *one.facts), one.stretch), by_input});
  }
  return misses;
}

/// The shift that minimises Σ w 2 (√(1 + z²) − 1), by weighted means.
double best_shift(const std::vector<Miss>& misses) {
  double shift = 0;
  for (int round = 0; round < 50; ++round) {
    double numerator = 0;
    double denominator = 0;
    for (const Miss& miss : misses) {
      const double error = miss.log_ratio - shift * miss.at.shifted;
      const double z = error / shift_scale;
      const double weight = miss.weight / std::sqrt(1 + z * z);
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
double unlikelihood(const std::vector<Miss>& misses, double shift, const Scales& scales) {
  double sum = 0;
  for (const Miss& miss : misses) {
    if (miss.by_input) continue;
    const double error = miss.log_ratio - shift * miss.at.shifted;
    const double both = scale_of(miss.at, scales.early) + scale_of(miss.at, scales.late);
    sum += miss.weight * (std::log(both) + std::abs(error) / scale_at(miss.at, scales, error));
  }
  for (const Parts* each : {&scales.early, &scales.late}) {
    for (std::size_t i = 0; i < parts; ++i) {
      const double off = std::log((*each)[i] / usual[i]);
      sum += hold * off * off;
    }
  }
  return sum;
}

/// A step in ln of the parts of one side, the other kept, by Fisher's scoring. If errors follow the
/// scales, the second derivative by the scale s of a side is 2 / (s S) − 1 / S², S = s_early +
/// s_late.
std::vector<double> scoring_step(const std::vector<Miss>& misses, double shift,
                                 const Scales& scales, bool late) {
  const Parts& each = late ? scales.late : scales.early;
  std::vector<double> g(parts);
  std::vector<double> H(parts * parts);
  for (std::size_t i = 0; i < parts; ++i) {
    g[i] = 2 * hold * std::log(each[i] / usual[i]);
    H[i * parts + i] = 2 * hold;
  }
  for (const Miss& miss : misses) {
    if (miss.by_input) continue;
    const double error = miss.log_ratio - shift * miss.at.shifted;
    const double s = scale_of(miss.at, each);
    const double both = scale_of(miss.at, scales.early) + scale_of(miss.at, scales.late);
    const double on_side = (error < 0) != late ? std::abs(error) : 0.0;
    const double slope = 1 / both - on_side / (s * s);
    const double bend = 2 / (s * both) - 1 / (both * both);
    for (std::size_t i = 0; i < parts; ++i) {
      const double q = each[i] * miss.at.of[i];
      g[i] += miss.weight * slope * q;
      for (std::size_t j = 0; j < parts; ++j) {
        H[i * parts + j] += miss.weight * bend * q * each[j] * miss.at.of[j];
      }
    }
  }
  return damped_step(H, g, 0);
}

/// Likelier parts of one side than those of `scales`, by the first of ever shorter steps that is
/// better; `scales` if none is.
Scales likelier(const std::vector<Miss>& misses, double shift, const Scales& scales, bool late) {
  const std::vector<double> step = scoring_step(misses, shift, scales, late);
  const double here = unlikelihood(misses, shift, scales);
  for (double length = 1; length > 1e-6; length /= 2) {
    Scales there = scales;
    Parts& each = late ? there.late : there.early;
    for (std::size_t i = 0; i < parts; ++i) {
      each[i] *= std::exp(std::clamp(length * step[i], -1.0, 1.0));
    }
    if (unlikelihood(misses, shift, there) < here) return there;
  }
  return scales;
}

/// How far two scales are apart, in logarithms.
double apart(const Scales& a, const Scales& b) {
  double sum = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    sum += std::abs(std::log(a.early[i] / b.early[i])) + std::abs(std::log(a.late[i] / b.late[i]));
  }
  return sum;
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

std::span<const std::string_view, error_part_count> error_parts() {
  return names;
}

Seconds slow_input(const TrainingFacts& facts) {
  const int given = facts.given.gpus_on_node;
  const int asked = facts.asked.gpus_on_node;
  if (facts.synthetic_input || !(facts.sample > Bytes()) || asked <= given) return {};
  const Seconds as_given =
      facts.batch * asked / (facts.given_batch * given) * facts.given_iteration;
  return std::min(Seconds(facts.batch * asked / slow_decoding), as_given);
}

IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors) {
  const Circumstances at = circumstances(time, facts);
  const Seconds value = std::exp(errors.shift * at.shifted) * time.total;
  const Seconds late = std::exp(errors.high * scale_of(at, errors.late)) * value;
  return {std::exp(errors.low * scale_of(at, errors.early)) * value, value,
          std::max(late, slow_input(facts))};
}

ErrorModel fit_errors(std::span<const LeftOut> left_out) {
  EXPECT(!left_out.empty());
  const std::vector<Miss> misses = misses_of(left_out);
  const double shift = best_shift(misses);
  Scales scales;
  for (int round = 0; round < 200; ++round) {
    const Scales before = scales;
    scales = likelier(misses, shift, scales, false);
    scales = likelier(misses, shift, scales, true);
    if (apart(scales, before) < 1e-7) break;
  }
  std::vector<Weighted> scaled;
  double sets = 0;
  for (const LeftOut& one : left_out) sets += one.weight;
  for (const Miss& miss : misses) {
    const double error = miss.log_ratio - shift * miss.at.shifted;
    const double z = miss.by_input ? 0 : error / scale_at(miss.at, scales, error);
    scaled.push_back({z, miss.weight});
  }
  const auto [low, high] = shortest(scaled, std::min(0.9 * (1 + 0.5 / sets), 1.0));
  return {shift, scales.early, scales.late, std::min(low, -0.1), std::max(high, 0.1)};
}

}  // namespace dlscale::model::scaling
