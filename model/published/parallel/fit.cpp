#include "model/published/parallel/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/levenberg.hpp"
#include "model/parallel/timeline/part_costs.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr double scale = 0.05;
constexpr double weight_of_priors = 0.1;

constexpr std::array<std::string_view, 7> held{"tile_start",    "attention_native", "gap",
                                               "network_start", "step_fixed",       "tensor_update",
                                               "interference"};

struct FreeConstant {
  double TimeConstants::*value;
  double prior;
  double spread;
};

std::vector<FreeConstant> free_constants(const ParallelTimeFile& from) {
  std::vector<FreeConstant> all;
  for (const TimeConstantKey& key : fitted_time_constants()) {
    if (std::ranges::find(held, key.key) != held.end()) continue;
    const auto prior = from.fitted.find(key.key);
    EXPECT(prior != from.fitted.end());
    all.push_back({key.value, prior->second.prior, prior->second.spread});
  }
  return all;
}

/// All fitted constants at their priors.
TimeConstants centre_of(const ParallelTimeFile& from) {
  TimeConstants constants = from.constants;
  for (const TimeConstantKey& key : fitted_time_constants()) {
    constants.*key.value = from.fitted.find(key.key)->second.prior;
  }
  return constants;
}

double predicted(const Observed& observed, const TimeConstants& constants) {
  const ParallelTraining& training = *observed.training;
  const Setting setting =
      with_constants(training.setting, reached_by(*training.setting.family, constants),
                     training.setting.collectives.links());
  return plan_time(setting, training.plan, training.schedule, observed.makespans).total;
}

}  // namespace

TimeConstants fit_constants(std::span<const Observed> observed, const ParallelTimeFile& from) {
  const std::vector<FreeConstant> moved = free_constants(from);
  const TimeConstants centre = centre_of(from);
  const auto at = [&](const std::vector<double>& point) {
    TimeConstants constants = centre;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      constants.*moved[i].value = moved[i].prior * std::exp(moved[i].spread * point[i]);
    }
    return constants;
  };
  const auto residuals = [&](const std::vector<double>& point) {
    const TimeConstants constants = at(point);
    std::vector<double> all;
    all.reserve(observed.size() + point.size());
    for (const Observed& one : observed) {
      const double log_ratio = std::log(predicted(one, constants) / one.seconds);
      all.push_back(robust_residual(log_ratio / scale, one.weight));
    }
    for (const double distance : point) all.push_back(std::sqrt(weight_of_priors) * distance);
    return all;
  };
  LeastSquares settings;
  settings.gain = 1e-6;
  return at(least_squares(residuals, std::vector<double>(moved.size()), settings));
}

}  // namespace dlscale::model::parallel_time
