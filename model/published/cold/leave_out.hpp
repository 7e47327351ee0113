#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::cold {

/// A training on one GPU, predicted by a fit that has not seen GPUs of its architecture.
struct LeftOutGpu {
  std::string architecture;
  double error = 0;  ///< of samples a second: predicted over measured - 1
};

/// Constants of kernels as fitted to published trainings on one GPU.
struct ColdFit {
  /// The constants of all, and those without each set, with their intervals.
  sheet::KernelFile file = {};
  std::map<std::string, std::size_t> sets = {};  ///< number of fitted trainings, by set
  std::size_t not_measured = 0;                  ///< trainings on one GPU without a measurement
  std::size_t not_covered = 0;                   ///< measured ones that cold_training() refuses
  std::vector<LeftOutGpu> other_gpus = {};
};

/// How far the fits are. One thread at a time calls it.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// Fits the constants of kernels to measured trainings on one GPU, with `outcomes` in their order:
/// once to all, once without each set, and once without each architecture of GPUs. A training of a
/// set of n weighs √(1/n) in fits, and 1/n in errors. Priors and constants that are not fitted are
/// those of `from`.
///
/// Intervals are those of errors of sets that a fit has not seen. For the fit without a set they
/// come from fits without that set and another, so that no measurement of a set affects its own
/// prediction or interval. The 90 % interval of a constant is by the jackknife over sets. Throws
/// ConfigError if fewer than three sets have such trainings.
ColdFit fit_cold(std::span<const cases::ScalingCase> trainings,
                 std::span<const cases::Outcome> outcomes, const scaling::FactSources& sources,
                 const sheet::KernelFile& from, const Progress& progress = {});

/// The text of `file` with the constants, intervals and sets of a fit to the cases of that name.
std::string fitted_text(std::string_view file, const ColdFit& fit, std::string_view cases);

}  // namespace dlscale::model::cold
