#pragma once
#include <functional>
#include <span>
#include <vector>

namespace dlscale::model {

/// The step x of a damped Newton iteration (Levenberg and Marquardt's),
///   (H + damping diag H) x = -g,
/// by Cholesky's factors. `H` is stored by rows, symmetric and (nearly) positive definite; damping
/// ≥ 0. A direction that H does not determine gets no step.
std::vector<double> damped_step(std::span<const double> H, std::span<const double> g,
                                double damping);

/// Residuals of a point, as many for every point; the loss is the sum of their squares.
using Residuals = std::function<std::vector<double>(const std::vector<double>& point)>;

struct LeastSquares {
  int rounds = 25;       ///< ≥ 0, at most
  double step = 1e-3;    ///< > 0, of differences that stand for derivatives
  double longest = 0.7;  ///< > 0: the most that a round moves a coordinate
  double gain = 1e-4;    ///< ≥ 0: a round that gains less than this part of the loss is the last
};

/// The point with the least loss that Levenberg and Marquardt's method sees from `start` on, which
/// must have a finite loss. Equal input gives equal results.
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start,
                                  const LeastSquares& settings = {});

/// A residual whose square is 2 (√(1 + z²) − 1) times `weight` ≥ 0: z² for a small z and |z| for a
/// large one, so that outliers bend a fit little.
double robust_residual(double z, double weight);

}  // namespace dlscale::model
