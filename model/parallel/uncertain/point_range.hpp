#pragma once
#include <span>

#include "model/parallel/time/constants.hpp"
#include "model/parallel/uncertain/interval.hpp"

namespace dlscale::model::parallel_time {

/// A measured iteration beside its prediction, by whatever model of the plan.
struct PredictedPoint {
  double ranks = 1;        ///< ≥ 1
  double measured = 1;     ///< seconds, > 0
  double predicted = 1;    ///< seconds, > 0
  bool is_within = true;   ///< the 90 % interval that its plan had before any point
  double unexplained = 0;  ///< part of ln(measured / predicted) that other plans do not share
  double doublings = 0;    ///< of its micro-batch from that of the plan asked for, ≥ 0
};

/// Doublings between two micro-batches > 0, ≥ 0.
double doublings_between(double one, double other);

/// The deviation ν of what a point says of another plan, √(noise² + (micro_batch · doublings)²).
/// Its kernels err otherwise with other micro-batches: errors of published trainings of one network
/// correlate by 0.9 at the same micro-batch, 0.2 to 0.8 at twice, and not at eight times.
/// [docs/explanation/parallel-scores.md]
double noise_at(const MeasuredConstants& constants, double doublings);

/// Measured over predicted seconds of the measured plan on `ranks` ≥ 1, log_interpolated() between
/// points, so that each is met. Requires points, each of its own number of ranks.
double measured_factor(std::span<const PredictedPoint> points, double ranks);

/// How points change a 90 % interval: its ends to a `power`, and `repetition` beside that.
struct RangeChange {
  double power = 1;       ///< ≥ 0
  double repetition = 0;  ///< ≥ 0, a logarithm
  [[nodiscard]] TimeRange of(const TimeRange& before) const;
};

/// The change of the interval of a plan whose logarithm has the deviation s > 0 before points:
///   s'² = s² (1 - ρ²) + r²
///   ρ = max(c · correlation · correlation_left^d), d doublings of ranks to a point
///   r² = mean of c times the square of what a point leaves unexplained
///   c = (noise / ν)²: the part that a point shares with the plan, noise_at() being ν
/// power = s' / s, `widest` at most. Where a point lies outside of its interval, it refutes the
/// model, so that no other plan gets a power below 1. The measured plan itself is met by
/// measured_factor(): at a point it varies by `repetition`, and within a doubling of ranks from
/// there, d of s'² adds up. [derived: the error at the plan and at a point, jointly normal; ρ
/// chosen so that the intervals of published series hold,
/// docs/explanation/beyond-data-parallelism.md] Requires points.
RangeChange change_by_points(const MeasuredConstants& constants,
                             std::span<const PredictedPoint> points, double ranks, double deviation,
                             bool is_measured_plan);

}  // namespace dlscale::model::parallel_time
