#include "model/published/memory/score.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dlscale::model::memory {
namespace {

/// Collects errors and verdicts case by case.
class Scorer {
 public:
  void add(const MemoryPrediction& predicted, const MemoryOutcome& outcome) {
    if (outcome.out_of_memory) {
      ++score_.failures;
      if (predicted.verdict.fits) ++score_.failures_missed;
      return;
    }
    if (!outcome.peak_bytes) return;
    const double measured = *outcome.peak_bytes;
    const double error = predicted.peak.bytes / measured - 1;
    ++score_.ran;
    if (!predicted.verdict.fits) ++score_.ran_denied;
    score_.bias += error;
    errors_.push_back(std::abs(error));
    if (predicted.peak.low <= measured && measured <= predicted.peak.high) score_.coverage += 1;
  }

  MemoryScore finish() {
    const auto ran = static_cast<double>(score_.ran);
    const auto failures = static_cast<double>(score_.failures);
    if (score_.ran > 0) {
      score_.median = median(errors_);
      for (const double error : errors_) score_.mean += error / ran;
      score_.bias /= ran;
      score_.coverage /= ran;
    }
    double kinds = 0;
    if (score_.ran > 0) {
      score_.balanced += 1 - static_cast<double>(score_.ran_denied) / ran;
      ++kinds;
    }
    if (score_.failures > 0) {
      score_.balanced += 1 - static_cast<double>(score_.failures_missed) / failures;
      ++kinds;
    }
    if (kinds > 0) score_.balanced /= kinds;
    return score_;
  }

 private:
  MemoryScore score_;
  std::vector<double> errors_;
};

}  // namespace

double median(std::span<const double> numbers) {
  if (numbers.empty()) return 0;
  std::vector<double> sorted(numbers.begin(), numbers.end());
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

MemoryScore score(std::span<const MemoryPrediction> predictions,
                  std::span<const MemoryOutcome> outcomes) {
  Scorer scorer;
  for (std::size_t i = 0; i < predictions.size(); ++i) scorer.add(predictions[i], outcomes[i]);
  return scorer.finish();
}

}  // namespace dlscale::model::memory
