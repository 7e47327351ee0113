#pragma once
#include <span>

#include "core/base/units.hpp"
#include "model/published/cold/step.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::cold {

/// A measured iteration on one GPU.
struct Observed {
  OneGpuTimes* times = nullptr;
  Seconds measured = {};
  double weight = 1;  ///< > 0
};

/// The constants with the least
///   Σ w 2 (√(1 + z²) − 1) + Σ (ln(c / prior) / spread)²,  z = ln(t / t_measured) / √(0.06² + d²)
/// over sheet::fitted_constants(); priors are those of `file`, and so are all other constants. The
/// loss is squared for a small z and absolute for a large one, so that outliers bend the fit
/// little. What is not known of software and board (d, OneGpuStep::doubt) counts less. [0.06: a
/// judgement, about the median error] The search starts from the priors, so that
/// nothing but these trainings counts.
sheet::KernelConstants fit_constants(std::span<const Observed> observed,
                                     const sheet::KernelFile& file);

}  // namespace dlscale::model::cold
