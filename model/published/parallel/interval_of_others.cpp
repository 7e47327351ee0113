#include "model/published/parallel/interval_of_others.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/published/parallel/measured_seconds.hpp"
#include "model/published/scaling/fit/interval.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// A training's error in deviations, and its deviation in logarithms.
struct Judged {
  double error = 0;
  double deviation = 1;
};
using Sets = std::map<std::string, std::vector<Judged>>;

Sets judged_sets(const IntervalConstants& constants, std::span<const cases::ScalingCase> trainings,
                 std::span<const cases::Outcome> outcomes,
                 std::span<const cases::CasePrediction> predictions) {
  EXPECT(trainings.size() == outcomes.size() && trainings.size() == predictions.size());
  Sets sets;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    const auto& values = predictions[i].values;
    if (!outcomes[i].measured || outcomes[i].quality != "A" || values.empty() ||
        waits_for_memory(predictions[i])) {
      continue;
    }
    const cases::PredictedValue& time = values.front().value();
    const double deviation = std::log(time.low.value() / time.value) / constants.low;
    const double seconds = measured_seconds(trainings[i], *outcomes[i].measured);
    sets[trainings[i].set].push_back({std::log(seconds / time.value) / deviation, deviation});
  }
  return sets;
}

/// Errors of all sets but one, of which each weighs the same.
std::vector<scaling::Weighted> errors_of_others(const Sets& sets, const std::string& without) {
  std::vector<scaling::Weighted> errors;
  for (const auto& [set, judged] : sets) {
    if (set == without) continue;
    for (const Judged& one : judged) {
      errors.push_back({one.error, 1 / static_cast<double>(judged.size())});
    }
  }
  return errors;
}

}  // namespace

std::vector<IntervalOfOthers> intervals_of_others(
    const IntervalConstants& constants, std::span<const cases::ScalingCase> trainings,
    std::span<const cases::Outcome> outcomes, std::span<const cases::CasePrediction> predictions) {
  const Sets sets = judged_sets(constants, trainings, outcomes, predictions);
  std::vector<IntervalOfOthers> all;
  if (sets.size() < 2) return all;
  for (const auto& [set, judged] : sets) {
    const std::vector<scaling::Weighted> others = errors_of_others(sets, set);
    IntervalOfOthers one{set, judged.size(), scaling::weighted_quantile(others, 0.05),
                         scaling::weighted_quantile(others, 0.95)};
    std::vector<double> widths;
    for (const Judged& each : judged) {
      if (each.error >= one.low && each.error <= one.high) ++one.covered;
      widths.push_back(std::exp(one.high * each.deviation) - std::exp(one.low * each.deviation));
    }
    one.covered /= static_cast<double>(judged.size());
    one.width = median(widths);
    all.push_back(one);
  }
  return all;
}

bool waits_for_memory(const cases::CasePrediction& prediction) {
  return std::ranges::any_of(prediction.terms, [](const cases::PredictedTerm& term) {
    return term.name == "allocator" && term.time > Seconds();
  });
}

}  // namespace dlscale::model::parallel_time
