#include "model/published/cold/fit.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/levenberg.hpp"

namespace dlscale::model::cold {
namespace {

constexpr double scale = 0.06;

using sheet::KernelConstants;

/// Constants by their distances from the priors, in spreads of the logarithm.
KernelConstants at(const std::vector<double>& point, const sheet::KernelFile& file) {
  KernelConstants constants = file.constants;
  std::size_t i = 0;
  for (const sheet::ConstantKey& key : sheet::fitted_constants()) {
    const auto fitted = file.fitted.find(key.key);
    EXPECT(fitted != file.fitted.end());
    const FittedConstant& prior = fitted->second;
    constants.*key.value = prior.prior * std::exp(prior.spread * point[i++]);
  }
  return constants;
}

}  // namespace

KernelConstants fit_constants(std::span<const Observed> observed, const sheet::KernelFile& file) {
  const auto residuals = [&](const std::vector<double>& point) {
    const KernelConstants constants = at(point, file);
    std::vector<double> all;
    all.reserve(observed.size() + point.size());
    for (const Observed& one : observed) {
      const OneGpuStep step = one.times->step(constants);
      const double log_ratio = std::log(step.total() / one.measured);
      all.push_back(robust_residual(log_ratio / std::hypot(scale, step.doubt), one.weight));
    }
    all.insert(all.end(), point.begin(), point.end());
    return all;
  };
  LeastSquares settings;
  settings.longest = 3;
  return at(
      least_squares(residuals, std::vector<double>(sheet::fitted_constants().size()), settings),
      file);
}

}  // namespace dlscale::model::cold
