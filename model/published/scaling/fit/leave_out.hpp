#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/fit.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The terms that these trainings alone would select. From none on, each step adds the term that
/// lowers the sum of fit() most, while it lowers it by more than one per cent. Constants are the
/// medians of the priors; terms not chosen are absent. [forward selection; the one per cent is a
/// choice] It does not choose the equations and the priors, which were made with all trainings
/// known.
Terms choose_terms(std::span<const Observed> observed, const FitSettings& settings = {});

/// Options of fit_scaling().
struct FitOptions {
  FitSettings settings = {};
  /// Reports that `done` of `all` fits are done. One thread at a time calls it.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
  int threads = 0;  ///< ≥ 0; 0: one a core. The result does not depend on it
  /// Whether to choose the terms of each fit by the sets that it uses (choose_terms()), instead of
  /// all. It is for studying how much the form of the model owes to trainings that judge it.
  bool choose_terms = false;
};

/// A fit and its trainings.
struct ScalingFit {
  FittedScaling fitted = {};
  std::map<std::string, std::size_t> sets = {};  ///< number of fitted trainings, by set
  std::size_t not_measured = 0;                  ///< trainings ignored without a measurement
  std::size_t not_covered = 0;                   ///< measured trainings ignored by not_covered()
};

/// Fits the model of scaling to measured trainings, with `outcomes` in their order: once to all,
/// and once without each set. A training of a set with n trainings weighs √(1/n) in fits and 1/n in
/// errors.
///
/// Errors come from sets that a fit has not seen. The errors of the fit to all come from the fits
/// without one set. Those of a fit without one set come from fits without that set and another. No
/// measurement of a set therefore affects its own prediction or interval; all fits start from the
/// prior for the same reason. Throws ConfigError if fewer than three sets have trainings left.
ScalingFit fit_scaling(std::span<const cases::ScalingCase> trainings,
                       std::span<const cases::Outcome> outcomes, const FactSources& sources,
                       const FitOptions& options = {});

}  // namespace dlscale::model::scaling
