#include "model/published/scaling/fit/fit.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/levenberg.hpp"

namespace dlscale::model::scaling {
namespace {

using Vector = std::vector<double>;

/// The problem as least squares of residuals that are functions of θ = ln p.
class Problem {
 public:
  Problem(std::span<const Observed> observed, const Parameters& start, const FitSettings& settings)
      : observed_(observed), start_(start), settings_(settings) {
    EXPECT(settings.strength > 0 && settings.scale > 0);
    for (std::size_t i = 0; i < parameter_count; ++i) {
      if (settings.terms[i]) fitted_.push_back(i);
    }
    for (const Observed& one : observed) {
      EXPECT(one.model != nullptr && one.iteration > Seconds() && one.weight > 0);
    }
  }

  /// Residuals of trainings, whose squares add up to the loss, then residuals of the prior.
  [[nodiscard]] Vector residuals(const Vector& theta) const {
    const Parameters parameters = at(theta);
    Vector all;
    all.reserve(observed_.size() + size());
    for (const Observed& one : observed_) {
      const double t = one.model->time(parameters).total.si();
      const double z = std::log(t / one.iteration.si()) / settings_.scale;
      all.push_back(robust_residual(z, one.weight));
    }
    const double root = std::sqrt(settings_.strength);
    for (std::size_t i = 0; i < size(); ++i) {
      const ParameterKind& kind = parameter_kinds()[fitted_[i]];
      all.push_back(root * (theta[i] - std::log(kind.median)) / kind.spread);
    }
    return all;
  }

  /// Number of fitted parameters.
  [[nodiscard]] std::size_t size() const { return fitted_.size(); }

  [[nodiscard]] Parameters at(const Vector& theta) const {
    Parameters parameters = start_;
    for (std::size_t i = 0; i < size(); ++i) parameters.values[fitted_[i]] = std::exp(theta[i]);
    return parameters;
  }

  /// The initial θ.
  [[nodiscard]] Vector logarithms() const {
    for (const double value : start_.values) EXPECT(std::isfinite(value) && value > 0);
    Vector theta;
    for (const std::size_t i : fitted_) theta.push_back(std::log(start_.values[i]));
    return theta;
  }

 private:
  std::span<const Observed> observed_;
  Parameters start_;
  FitSettings settings_;
  std::vector<std::size_t> fitted_ = {};
};

double squares(const Vector& residuals) {
  return std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
}

}  // namespace

Parameters fit(std::span<const Observed> observed, const Parameters& start,
               const FitSettings& settings) {
  const Problem problem(observed, start, settings);
  LeastSquares how;
  how.rounds = settings.rounds;
  return problem.at(least_squares([&](const Vector& theta) { return problem.residuals(theta); },
                                  problem.logarithms(), how));
}

double fit_loss(std::span<const Observed> observed, const Parameters& parameters,
                const FitSettings& settings) {
  const Problem problem(observed, parameters, settings);
  return squares(problem.residuals(problem.logarithms()));
}

}  // namespace dlscale::model::scaling
