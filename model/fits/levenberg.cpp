#include "model/fits/levenberg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

using Vector = std::vector<double>;

double squares(const Vector& residuals) {
  return std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
}

/// g = Jᵀ r and H = Jᵀ J by differences.
struct Slope {
  Vector g;
  Vector H;
};

/// The current point of the iteration.
struct Place {
  Vector point;
  Vector residuals;
  double loss = 0;
};

Place place_at(const Residuals& residuals, Vector point) {
  Place place;
  place.residuals = residuals(point);
  place.loss = squares(place.residuals);
  place.point = std::move(point);
  return place;
}

Slope slope_at(const Residuals& residuals, const Place& here, double step) {
  std::vector<Vector> columns;
  const std::size_t n = here.point.size();
  for (std::size_t j = 0; j < n; ++j) {
    Vector moved = here.point;
    moved[j] += step;
    columns.push_back(residuals(moved));
    std::transform(columns[j].begin(), columns[j].end(), here.residuals.begin(), columns[j].begin(),
                   [step](double there, double at) { return (there - at) / step; });
  }
  Slope slope{Vector(n), Vector(n * n)};
  const auto dot = [](const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  for (std::size_t i = 0; i < n; ++i) {
    slope.g[i] = dot(columns[i], here.residuals);
    for (std::size_t j = 0; j <= i; ++j) {
      slope.H[i * n + j] = dot(columns[i], columns[j]);
      slope.H[j * n + i] = slope.H[i * n + j];
    }
  }
  return slope;
}

/// A better point, by up to eight steps of growing damping; the same point if none is better.
Place improved(const Residuals& residuals, const Place& here, const LeastSquares& settings,
               double& damping) {
  const Slope slope = slope_at(residuals, here, settings.step);
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Vector step = damped_step(slope.H, slope.g, damping);
    Vector point = here.point;
    for (std::size_t i = 0; i < point.size(); ++i) {
      point[i] += std::clamp(step[i], -settings.longest, settings.longest);
    }
    Place there = place_at(residuals, std::move(point));
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

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start,
                                  const LeastSquares& settings) {
  double damping = 1e-2;
  Place here = place_at(residuals, std::move(start));
  EXPECT(std::isfinite(here.loss));
  if (here.point.empty()) return here.point;
  for (int round = 0; round < settings.rounds; ++round) {
    Place there = improved(residuals, here, settings, damping);
    const double gain = here.loss - there.loss;
    here = std::move(there);
    damping = std::max(damping / 5, 1e-6);
    if (gain <= settings.gain * here.loss) break;
  }
  return here.point;
}

double robust_residual(double z, double weight) {
  // 2 (√(1+z²) − 1) without cancellation
  const double loss = 2 * z * z / (std::sqrt(1 + z * z) + 1);
  return std::copysign(std::sqrt(weight * loss), z);
}

}  // namespace dlscale::model
