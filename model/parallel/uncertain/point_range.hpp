#pragma once
#include <span>

#include "model/parallel/time/constants.hpp"
#include "model/parallel/uncertain/interval.hpp"

namespace dlscale::model::parallel_time {

/// The sizes of a plan by which its errors are like those of another, all > 0.
struct PlanScale {
  double gpus = 1;
  double micro_batch = 1;  ///< samples
  double cuts = 1;         ///< ranks that share a layer: tensor × context
  double stages = 1;
};

/// A measured iteration beside its prediction, by whatever model of the plan.
struct PredictedPoint {
  double ranks = 1;      ///< ≥ 1
  double measured = 1;   ///< seconds, > 0
  double predicted = 1;  ///< seconds, > 0
  double surprise = 0;   ///< surprise_of() it before any point moved its prediction
  double likeness = 1;   ///< of its plan and the one asked for, 0 … 1
};

/// Doublings between two numbers > 0, ≥ 0.
double doublings_between(double one, double other);

/// The deviation ν of what a point says of constants for another plan, √(noise² + (micro_batch ·
/// doublings)²): kernels err otherwise with other micro-batches.
double noise_at(const MeasuredConstants& constants, double doublings);

/// The correlation ρ of the errors of two plans, of one network, cluster and framework:
///   ρ = correlation · left_gpus^d · left_micro_batch^d · left_cuts^d · left_stages^d
/// d being the doublings() between the two plans in each. [derived; fitted to pairs of published
/// trainings, docs/explanation/parallel-scores.md]
double likeness(const MeasuredConstants& constants, const PlanScale& one, const PlanScale& other);

/// ln(measured / predicted) over that of the end of its 90 % interval on this side: 1 at an end.
/// Requires seconds > 0 within low < predicted < high.
double surprise_of(double measured, double predicted, double low, double high);

/// Measured over predicted seconds of the measured plan on `ranks` ≥ 1, log_interpolated() between
/// points, so that each is met. Requires points, each of its own number of ranks.
double measured_factor(std::span<const PredictedPoint> points, double ranks);

/// How points change a prediction: its time by a `factor`, and the ends of its 90 % interval to a
/// `power`, with `repetition` beside that.
struct PointsChange {
  double factor = 1;      ///< > 0
  double power = 1;       ///< ≥ 0
  double repetition = 0;  ///< ≥ 0, a logarithm
  [[nodiscard]] TimeRange range(const TimeRange& before) const;
};

/// The change of a plan on `ranks` ≥ 1, ρ and q being those of the likeliest point, of equals the
/// most surprising one:
///   factor   measured_factor() for the measured plan, and its ρ / q-th power for another
///   power    q √(1 - ρ²), times √d for the measured plan with d < 1 doublings of ranks to a point
/// The measured plan varies by `repetition`, too. q is 1, or the `surprise` of a point outside of
/// its interval. That refutes the deviations of the model, which are q times as large then,
/// `widest` times at most, so that powers grow from √(1 - ρ²) without a jump. No other plan follows
/// beyond the interval. [derived: errors jointly normal and alike in size, with one point]
PointsChange change_by_points(const MeasuredConstants& constants,
                              std::span<const PredictedPoint> points, double ranks,
                              bool is_measured_plan);

}  // namespace dlscale::model::parallel_time
