#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "model/published/cases/outcome.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/fit.hpp"
#include "model/published/scaling/fit/fitted.hpp"

namespace dlscale::model::scaling {

/// How fit_scaling() goes about it.
struct FitOptions {
  FitSettings settings = {};
  /// Of so many fits so many are done. Called by one thread at a time.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
  int threads = 0;  ///< ≥ 0; 0: one a core. What is fitted does not depend on it
  /// Choose the terms of each fit by the sets that it has seen (choose_terms()), in place of all.
  /// A study of how much the form of the model owes to trainings that it is judged by.
  bool choose_terms = false;
};

/// A fit, and what it was made of.
struct ScalingFit {
  FittedScaling fitted = {};
  std::map<std::string, std::size_t> sets = {};  ///< trainings that were fitted, by set
  std::size_t not_measured = 0;                  ///< passed over
  std::size_t not_covered = 0;                   ///< measured, and passed over by not_covered()
};

/// Fits the model of scaling to measured trainings, `outcomes` in their order: to all of them, and
/// to all but each set. A training weighs √(1/n) in fits and 1/n in errors, n trainings being of
/// its set. Errors are those of sets that the fit in question has not seen: those of the fit to all
/// from the fits without one set, those of a fit without one set from fits without that and another
/// one, so that nothing measured of a set reaches its own prediction or interval. All fits start
/// from the prior for the same reason. Throws ConfigError where trainings of fewer than three sets
/// are left.
ScalingFit fit_scaling(std::span<const cases::ScalingCase> trainings,
                       std::span<const cases::Outcome> outcomes, const FactSources& sources,
                       const FitOptions& options = {});

}  // namespace dlscale::model::scaling
