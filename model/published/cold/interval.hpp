#pragma once
#include <span>

#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::cold {

/// The error of a training on one GPU by a fit that has not seen it, and what its size depends on.
struct ColdError {
  double log_ratio = 0;  ///< of measured over predicted time
  double weight = 1;     ///< > 0
  bool half = false;     ///< in 16 bits
  bool attention = false;
  bool old = false;  ///< with libraries of an age > 0
};

/// Sets the constants of the interval. Its terms, each with a prior, make errors of Laplace's
/// distribution likeliest:
///   Σ w (ln s + |e| / s) / Σ w + Σ ((term − prior) / spread)² / 300,  s = e^(sum of terms)
/// low and high are 1.2 times the weighted quantiles at 5 and 95 % of e / s: sources that nobody
/// has seen differ more than those that left each other out. [1.2 and priors: judgements] Requires
/// at least one error.
void fit_interval(std::span<const ColdError> errors, sheet::KernelConstants& constants);

}  // namespace dlscale::model::cold
