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
/// low and high are the weighted quantiles at 5 and 95 % of e / s, times Student's factor for one
/// more source than the n of the errors, which share a weight of 1 each:
///   t(0.95, n − 1) / 1.645 √(1 + 1/n)
/// [priors: judgements] Requires errors of at least two sources.
void fit_interval(std::span<const ColdError> errors, sheet::KernelConstants& constants);

}  // namespace dlscale::model::cold
