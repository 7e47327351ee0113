#pragma once
#include <span>

#include "model/parallel/pipeline/makespans.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {

/// A measured iteration.
struct Observed {
  const ParallelTraining* training = nullptr;
  double seconds = 1;                    ///< > 0
  double weight = 1;                     ///< > 0
  const Makespans* makespans = nullptr;  ///< as for plan_time()
};

/// The constants with the least
///   Σ w 2 (√(1 + z²) − 1) + 0.1 Σ (ln(c / prior) / spread)²,  z = ln(t / t_measured) / 0.05
/// over the fitted constants. Those that trainings hardly decide stay at their priors: start of
/// tiles, native attention, gaps, start on fast networks, fixed time of a step, time of a tensor's
/// update, interference. The loss is squared for a small z and absolute for a large one, so that
/// outliers bend the fit little. [0.05: about the median error; 0.1, and what stays: judgements by
/// fits that left a set out] The search starts from the priors of `from`, so that nothing but these
/// trainings counts.
TimeConstants fit_constants(std::span<const Observed> observed, const ParallelTimeFile& from);

}  // namespace dlscale::model::parallel_time
