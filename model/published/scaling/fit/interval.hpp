#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling {

/// A value that counts for `weight` > 0.
struct Weighted {
  double value = 0;
  double weight = 1;
};

/// The q-quantile of weighted values, 0 ≤ q ≤ 1. The i-th value is at the middle of its weight,
///   (w_1 + … + w_(i-1) + w_i / 2) / Σ w.
/// The quantile is linear between values, and the least or the greatest beyond them. For equal
/// weights this is the definition of Hazen (Hyndman & Fan type 5).
inline double weighted_quantile(std::vector<Weighted> values, double q) {
  EXPECT(!values.empty() && q >= 0 && q <= 1);
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) {
    return a.value < b.value || (a.value == b.value && a.weight < b.weight);
  });
  double sum = 0;
  for (const Weighted& one : values) sum += one.weight;
  const double wanted = q * sum;
  double place = 0;  // position of the previous value, in weight
  double below = 0;  // weight of all previous values
  const Weighted* before = nullptr;
  for (const Weighted& one : values) {
    const double here = below + one.weight / 2;
    if (here >= wanted) {
      if (before == nullptr || here == place) return one.value;
      return before->value + (one.value - before->value) * (wanted - place) / (here - place);
    }
    below += one.weight;
    place = here;
    before = &one;
  }
  return values.back().value;
}

/// A time and the interval that holds 90 % of measured ones.
struct IntervalTime {
  Seconds low = {};
  Seconds value = {};
  Seconds high = {};
};

/// Circumstances that the size of an error depends on, in the order of error_parts().
enum class ErrorPart : std::size_t {
  base,
  overhead,     ///< share of the time that the given point does not state
  small_batch,  ///< whether the batch is below 0.3 of the given one
  nodes,        ///< whether there are several nodes
  doubt,        ///< share of the time that depends on an unknown overlap
  hidden,       ///< expected to be hidden, but not certain: communication over the time
  messages,     ///< ln(slower / total): what messages that take twice as long would add
  precision,    ///< whether it computes in 16 or 8 bits
  input,        ///< whether samples may be read and decoded
  uneven,       ///< whether samples of a batch differ in length or size
  waiting       ///< share of the time that passes in copies and in waiting for the slowest
};
inline constexpr std::size_t error_part_count = 11;
using ErrorParts = std::array<double, error_part_count>;

/// The names of the parts in a model file: "base", "overhead", …
std::span<const std::string_view, error_part_count> error_parts();

/// The distribution of errors at sets that were not fitted to. The logarithm of measured over
/// predicted has its middle at m = d shift (1 - overhead). Errors of both directions have scales of
/// their own, since most effects that are missing from the model slow training down:
///   s = d Σ part · value of the part + (1 - d) 0.005,  d = ScaledTime::differs
/// with the parts `early` below m, and `late` above. Nine of ten logarithms lie between
/// m + s_early low and m + s_late high.
struct ErrorModel {
  double shift = 0;
  ErrorParts early = {};  ///< each > 0
  ErrorParts late = {};   ///< each > 0
  double low = 0;         ///< < 0
  double high = 0;        ///< > 0
  bool operator==(const ErrorModel&) const = default;
};

/// Pictures a second that the processors of a node may decode and augment at worst, of those nodes
/// that feed several GPUs. [a judgement: programs that others measured on one machine with eight
/// GPUs stay at 2,400 to 2,900 from 8 GPUs on, one with few processes at 1,070]
inline constexpr double slow_decoding = 2500;

/// The time in which a node's processors decode the batch of all its GPUs at slow_decoding, or the
/// longest that the given point leaves open, if that is less: its GPUs were fed. 0 if samples are
/// no pictures, are known to be made up, or if the given point has as many GPUs on a node.
Seconds slow_input(const TrainingFacts& facts);

/// value = total · e^m, with the ends total · e^(m + low s_early) and total · e^(m + high s_late),
/// or slow_input() if that is later. Requires the time of ScalingModel::judged().
IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors);

/// Factor on a logarithmic scale by which intervals outside of the domain are wider. [a judgement;
/// errors count by it, so that intervals within the domain are narrower for it]
inline constexpr double outside_stretch = 1.25;

/// A prediction of a set that the fit did not use.
struct LeftOut {
  const TrainingFacts* facts = nullptr;
  ScaledTime predicted = {};  ///< by ScalingModel::judged()
  Seconds measured = {};
  double weight = 1;  ///< 1 / number of the set's cases
  /// ≥ 1: factor of the scale, above 1 outside of the domain of the fit that predicted it.
  double stretch = 1;
};

/// Fits the shift, and the parts of the scales to errors z = (ln(measured / predicted) − m) / s.
///
/// The shift minimises Σ w 2 (√(1 + z²) − 1), z = (ln(measured / predicted) − m) / 0.03, the loss
/// of fit(). It is near a mean for small errors and a median for large ones, most of which are
/// late. The parts, all > 0, are the likeliest for errors of Laplace's distribution with a scale on
/// each side. Times up to slow_input() count as held by the interval, without a part. They minimise
///   Σ w (ln(s_early + s_late) + |ln(measured / predicted) - m| / s) / Σ w
///   + 0.001 Σ (ln(part / usual))²
/// where the usual parts only matter if errors say nothing.
///
/// low and high are weighted quantiles of z: of all pairs that are a apart, the nearest to each
/// other. a = 0.9 (1 + 1/(2K)) for K sets, at most 1; K is the sum of weights. With 1/K, a case of
/// a further set would lie in the interval with a chance of at least 0.9 [R. Dunn, L. Wasserman &
/// A. Ramdas, JASA 118, 2023: sets are drawn first, then cases]. That held 98 % of sets left out,
/// and half of it 92 %. [half, and the shortest interval, are choices] Requires at least one error;
/// low is at most -0.1 and high at least 0.1.
ErrorModel fit_errors(std::span<const LeftOut> left_out);

}  // namespace dlscale::model::scaling
