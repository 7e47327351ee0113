#pragma once
#include "core/base/units.hpp"

namespace dlscale::model::goodput {

/// A job that stops at failures and goes on from its last checkpoint. Failures come at random, by a
/// rate λ that does not change, also while it restarts. Times are finite and ≥ 0 (EXPECT).
struct CheckpointedJob {
  double failures_per_s = 0;  ///< λ ≥ 0
  Seconds stall;              ///< δ: training stands still for a checkpoint
  Seconds write;    ///< w: afterwards, while training goes on, until the checkpoint counts
  Seconds restart;  ///< R: from a failure until training goes on
};

/// The useful share of time with τ > 0 of work between checkpoints, if w ≤ τ + δ:
///   g = λ τ / (e^(λ (R + w)) (e^(λ (τ + δ)) - 1)),  and τ / (τ + δ) for λ = 0
/// A segment that has to start anew takes G(L) = e^(λ R) (e^(λ L) - 1) / λ for L without failure
/// [J. Daly, A higher order estimate of the optimum checkpoint interval, 2006, (13)]. The time
/// between two checkpoints is then (1 - e^(-λ (τ + δ))) (1/λ + (e^(λ R) - 1)/λ + G(τ + δ + w)).
/// [derived; exact] Between 0 and 1; 0 where the exponentials overflow.
double useful_share(const CheckpointedJob& job, Seconds every);

/// Young's interval √(2 δ / λ), for λ > 0. [J. Young, Communications of the ACM 17(9), 1974]
Seconds young_interval(const CheckpointedJob& job);

/// Daly's estimate of higher order, for λ > 0, M = 1 / λ and δ < 2 M:
///   √(2 δ M) (1 + √(δ / 2M) / 3 + (δ / 2M) / 9) - δ,  else M  [Daly 2006, (37)]
Seconds daly_interval(const CheckpointedJob& job);

/// The interval of the greatest useful_share(), from λ τ = 1 - e^(-λ (τ + δ)). It is infinite for
/// λ = 0, and 0 for δ = 0. It may be shorter than w - δ, which a caller excludes. [derived]
Seconds best_interval(const CheckpointedJob& job);

}  // namespace dlscale::model::goodput
