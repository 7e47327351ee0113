#pragma once
#include <span>

#include "model/published/scaling/fit/fit.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The terms that somebody would choose who has seen these trainings alone: from none on, each time
/// the one that lessens the sum of fit() over the trainings most, while that is by more than one
/// per cent. Constants are the medians of the priors, those of terms that are not chosen absent.
/// [forward selection; the one per cent is a choice] What it leaves out of the choice are the
/// equations themselves and the priors: these were made in sight of all trainings.
Terms choose_terms(std::span<const Observed> observed, const FitSettings& settings = {});

}  // namespace dlscale::model::scaling
