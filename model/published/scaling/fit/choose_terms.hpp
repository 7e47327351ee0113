#pragma once
#include <span>

#include "model/published/scaling/fit/fit.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The terms that these trainings alone would select. From none on, each step adds the term that
/// lowers the sum of fit() most, while it lowers it by more than one per cent. Constants are the
/// medians of the priors; terms not chosen are absent. [forward selection; the one per cent is a
/// choice] It does not choose the equations and the priors, which were made with all trainings
/// known.
Terms choose_terms(std::span<const Observed> observed, const FitSettings& settings = {});

}  // namespace dlscale::model::scaling
