#pragma once
#include <cstddef>
#include <span>

#include "model/published/memory/memory_case.hpp"
#include "model/published/memory/predict.hpp"

namespace dlscale::model::memory {

/// Errors of predicted memory, as shares: over the cases that ran, and of the verdict over all.
struct MemoryScore {
  std::size_t ran = 0;
  double median = 0;  ///< of |predicted / measured - 1|
  double mean = 0;
  double bias = 0;             ///< mean of predicted / measured - 1
  double coverage = 0;         ///< share of measurements within low … high
  std::size_t ran_denied = 0;  ///< ran, and predicted not to fit
  std::size_t failures = 0;    ///< ran out of memory
  std::size_t failures_missed = 0;
  /// Mean of the shares of right verdicts among those that ran and those that did not; where there
  /// is one of both kinds only, that share.
  double balanced = 0;
};

/// Requires one prediction and one outcome for each case, in order.
MemoryScore score(std::span<const MemoryPrediction> predictions,
                  std::span<const MemoryOutcome> outcomes);

/// Median of numbers; 0 of none.
double median(std::span<const double> numbers);

}  // namespace dlscale::model::memory
