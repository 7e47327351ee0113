#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "model/parallel/time/constants.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::parallel_time {

/// Constants of parallel times as fitted to published trainings.
struct ParallelFit {
  /// The constants of all, and those without each set. Bounds of constants hold both.
  ParallelTimeFile file = {};
  std::map<std::string, std::size_t> sets = {};  ///< number of fitted trainings, by set
  std::size_t not_measured = 0;                  ///< trainings without a measurement
  std::size_t not_covered = 0;                   ///< measured ones that the model refuses
  std::size_t not_fitted = 0;  ///< measured ones of lesser quality than A, or that wait for memory
  /// Trainings of sets with several networks, each by a fit that has not seen its network but the
  /// others of the set.
  std::vector<cases::CasePrediction> other_networks = {};
};

/// How far the fits are. One thread at a time calls it.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// Fits the constants of parallel times to measured trainings of quality A, with `outcomes` in
/// their order: to all, without each set, and without each network of a set that has several. A
/// set weighs 1 in a fit, whatever the number of its trainings. Priors, traits of families,
/// intervals and constants that are not fitted are those of `from`. Trainings of lesser quality,
/// and those that wait for memory, are predicted but not fitted. Throws ConfigError if fewer than
/// two sets have such trainings.
ParallelFit fit_parallel(std::span<const cases::ScalingCase> trainings,
                         std::span<const cases::Outcome> outcomes, const DeviceCatalogue& devices,
                         const ParallelTimeFile& from, const Progress& progress = {});

/// The text of `file` with the constants and sets of a fit to the cases of these names.
std::string fitted_text(std::string_view file, const ParallelFit& fit,
                        std::span<const std::string> cases);

}  // namespace dlscale::model::parallel_time
