#pragma once
#include <span>
#include <vector>

namespace dlscale::model::scaling {

/// The step x of a damped Newton iteration (Levenberg and Marquardt's),
///   (H + damping diag H) x = -g,
/// by Cholesky's factors. `H` is stored by rows, symmetric and (nearly) positive definite; damping
/// ≥ 0. A direction that H does not determine gets no step.
std::vector<double> damped_step(std::span<const double> H, std::span<const double> g,
                                double damping);

}  // namespace dlscale::model::scaling
