#include "model/published/scaling/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

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
      // 2 (√(1+z²) − 1) without cancellation
      const double loss = 2 * z * z / (std::sqrt(1 + z * z) + 1);
      all.push_back(std::copysign(std::sqrt(one.weight * loss), z));
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

/// g = Jᵀ r and H = Jᵀ J by differences.
struct Slope {
  Vector g;
  Vector H;
};

Slope slope_at(const Problem& problem, const Vector& theta, const Vector& residuals) {
  constexpr double step = 1e-3;
  std::vector<Vector> columns;
  const std::size_t n = problem.size();
  for (std::size_t j = 0; j < n; ++j) {
    Vector moved = theta;
    moved[j] += step;
    columns.push_back(problem.residuals(moved));
    std::transform(columns[j].begin(), columns[j].end(), residuals.begin(), columns[j].begin(),
                   [](double there, double here) { return (there - here) / step; });
  }
  Slope slope{Vector(n), Vector(n * n)};
  const auto dot = [](const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (std::size_t i = 0; i < n; ++i) {
    slope.g[i] = dot(columns[i], residuals);
    for (std::size_t j = 0; j <= i; ++j) {
      slope.H[i * n + j] = dot(columns[i], columns[j]);
      slope.H[j * n + i] = slope.H[i * n + j];
    }
  }
  return slope;
}

/// The current point of the iteration.
struct Place {
  Vector theta;
  Vector residuals;
  double loss = 0;
};

Place place_at(const Problem& problem, Vector theta) {
  Place place;
  place.residuals = problem.residuals(theta);
  place.loss = squares(place.residuals);
  place.theta = std::move(theta);
  return place;
}

/// A better point, by up to eight steps of growing damping; the same point if none is better.
Place improved(const Problem& problem, const Place& here, double& damping) {
  constexpr double longest = 0.7;  // longest step in ln p: about a factor of two
  const Slope slope = slope_at(problem, here.theta, here.residuals);
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Vector step = damped_step(slope.H, slope.g, damping);
    Vector theta = here.theta;
    for (std::size_t i = 0; i < theta.size(); ++i)
      theta[i] += std::clamp(step[i], -longest, longest);
    Place there = place_at(problem, std::move(theta));
    if (std::isfinite(there.loss) && there.loss < here.loss) return there;
    damping *= 4;
  }
  return here;
}

}  // namespace

std::vector<double> damped_step(std::span<const double> H, std::span<const double> g,
                                double damping) {
  const std::size_t n = g.size();
  EXPECT(H.size() == n * n && damping >= 0);
  std::vector<double> L(n * n);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = H[i * n + j] * (i == j ? 1 + damping : 1.0);
      for (std::size_t l = 0; l < j; ++l) sum -= L[i * n + l] * L[j * n + l];
      if (i != j) {
        L[i * n + j] = sum / L[j * n + j];
      } else {
        // `sum` is nearly 0 for a direction that depends on others or is undetermined.
        const bool known = sum > 1e-14 * H[i * n + i];
        L[i * n + i] = known ? std::sqrt(sum) : INFINITY;
      }
    }
    double sum = -g[i];
    for (std::size_t l = 0; l < i; ++l) sum -= L[i * n + l] * x[l];
    x[i] = sum / L[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t l = i + 1; l < n; ++l) x[i] -= L[l * n + i] * x[l];
    x[i] /= L[i * n + i];
  }
  return x;
}

Parameters fit(std::span<const Observed> observed, const Parameters& start,
               const FitSettings& settings) {
  const Problem problem(observed, start, settings);
  double damping = 1e-2;
  Place here = place_at(problem, problem.logarithms());
  EXPECT(std::isfinite(here.loss));
  if (problem.size() == 0) return start;
  for (int round = 0; round < settings.rounds; ++round) {
    Place there = improved(problem, here, damping);
    const double gain = here.loss - there.loss;
    here = std::move(there);
    damping = std::max(damping / 5, 1e-6);
    if (gain <= 1e-4 * here.loss) break;
  }
  return problem.at(here.theta);
}

double fit_loss(std::span<const Observed> observed, const Parameters& parameters,
                const FitSettings& settings) {
  const Problem problem(observed, parameters, settings);
  return squares(problem.residuals(problem.logarithms()));
}

}  // namespace dlscale::model::scaling
