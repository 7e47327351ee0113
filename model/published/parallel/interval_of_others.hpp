#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/parallel/time/constants.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::parallel_time {

/// The quantiles of the interval as the other sets alone would have them, judged by a set.
struct IntervalOfOthers {
  std::string set;
  std::size_t trainings = 0;
  double low = 0;      ///< in place of IntervalConstants::low
  double high = 0;     ///< in place of IntervalConstants::high
  double covered = 0;  ///< 0 … 1: of the set's measured times in that interval
  double width = 0;    ///< median of it over the predicted time
};

/// 5 and 95 % quantiles of z over the trainings of all other sets, of which each weighs the same:
/// z = ln(measured / time) / s, with s = ln(low end / time) / IntervalConstants::low of each
/// training. Trainings of quality A that do not wait for memory count; `outcomes` and `predictions`
/// are in the order of `trainings`. Terms of s stay as they are. Empty for fewer than two sets.
/// [derived]
std::vector<IntervalOfOthers> intervals_of_others(
    const IntervalConstants& constants, std::span<const cases::ScalingCase> trainings,
    std::span<const cases::Outcome> outcomes, std::span<const cases::CasePrediction> predictions);

/// Whether a prediction is of a training whose allocator waits for memory.
bool waits_for_memory(const cases::CasePrediction& prediction);

}  // namespace dlscale::model::parallel_time
