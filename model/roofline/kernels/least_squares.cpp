#include "model/roofline/kernels/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::model {
namespace {

using Vector = std::vector<double>;

/// The system G x = b, where G is symmetric, positive semidefinite and of unit diagonal.
struct Normal {
  std::size_t n;
  Vector G;
  Vector b;
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return G[i * n + j]; }
};

/// Lengths of the columns; 1 for columns of zeros.
Vector column_lengths(const Equations& equations, std::span<const double> weights) {
  Vector lengths(equations.unknowns);
  for (std::size_t i = 0; i < equations.size(); ++i) {
    const auto row = equations.row(i);
    for (std::size_t j = 0; j < row.size(); ++j) lengths[j] += weights[i] * row[j] * row[j];
  }
  for (double& length : lengths) length = length > 0 ? std::sqrt(length) : 1;
  return lengths;
}

Normal normal_equations(const Equations& equations, std::span<const double> weights,
                        const Vector& lengths) {
  const std::size_t n = equations.unknowns;
  Normal normal{n, Vector(n * n), Vector(n)};
  std::vector<std::size_t> used;  // a kernel has few of all terms, so most coefficients are 0
  for (std::size_t row = 0; row < equations.size(); ++row) {
    const auto a = equations.row(row);
    used.clear();
    for (std::size_t i = 0; i < n; ++i) {
      if (a[i] != 0) used.push_back(i);
    }
    for (const std::size_t i : used) {
      const double scaled = weights[row] * a[i] / lengths[i];
      normal.b[i] += scaled * equations.values[row];
      for (const std::size_t j : used) normal.G[i * n + j] += scaled * a[j] / lengths[j];
    }
  }
  return normal;
}

/// Solves for the unknowns in `free` by Cholesky's factors, with the others 0. A small term on the
/// diagonal lets linearly dependent columns share.
Vector solve(const Normal& normal, const std::vector<std::size_t>& free) {
  constexpr double ridge = 1e-10;
  const std::size_t k = free.size();
  Vector L(k * k);
  Vector x(k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = normal.at(free[i], free[j]) + (i == j ? ridge : 0);
      for (std::size_t l = 0; l < j; ++l) sum -= L[i * k + l] * L[j * k + l];
      L[i * k + j] = i == j ? std::sqrt(std::max(sum, ridge)) : sum / L[j * k + j];
    }
    double sum = normal.b[free[i]];
    for (std::size_t l = 0; l < i; ++l) sum -= L[i * k + l] * x[l];
    x[i] = sum / L[i * k + i];
  }
  for (std::size_t i = k; i-- > 0;) {
    for (std::size_t l = i + 1; l < k; ++l) x[i] -= L[l * k + i] * x[l];
    x[i] /= L[i * k + i];
  }
  return x;
}

/// The unknown whose growth from 0 lowers the sum most; n if none does.
std::size_t most_wanted(const Normal& normal, const Vector& x, const std::vector<bool>& is_free) {
  std::size_t best = normal.n;
  double steepest = 1e-9 * *std::max_element(normal.b.begin(), normal.b.end());
  for (std::size_t i = 0; i < normal.n; ++i) {
    if (is_free[i]) continue;
    double slope = normal.b[i];
    for (std::size_t j = 0; j < normal.n; ++j) slope -= normal.at(i, j) * x[j];
    if (slope <= steepest) continue;
    steepest = slope;
    best = i;
  }
  return best;
}

/// Moves x to the solution among the free unknowns. An unknown that reaches 0 is no longer free.
void settle(const Normal& normal, Vector& x, std::vector<bool>& is_free) {
  while (true) {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < normal.n; ++i) {
      if (is_free[i]) free.push_back(i);
    }
    const Vector wanted = solve(normal, free);
    double step = 1;
    std::size_t first_out = free.size();
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (wanted[i] > 0) continue;
      const double reach = x[free[i]] / (x[free[i]] - std::min(wanted[i], -1e-300));
      if (reach >= step && first_out < free.size()) continue;
      step = std::min(step, reach);
      first_out = i;
    }
    for (std::size_t i = 0; i < free.size(); ++i) x[free[i]] += step * (wanted[i] - x[free[i]]);
    if (first_out == free.size()) return;
    x[free[first_out]] = 0;
    is_free[free[first_out]] = false;
  }
}

}  // namespace

void Equations::add(std::span<const double> row, double value) {
  EXPECT(row.size() == unknowns);
  coefficients.insert(coefficients.end(), row.begin(), row.end());
  values.push_back(value);
}

std::vector<double> non_negative_least_squares(const Equations& equations,
                                               std::span<const double> weights) {
  EXPECT(weights.size() == equations.size() && equations.size() > 0);
  const Vector lengths = column_lengths(equations, weights);
  const Normal normal = normal_equations(equations, weights, lengths);
  Vector x(normal.n);
  std::vector<bool> is_free(normal.n);
  for (std::size_t round = 0; round < 3 * normal.n; ++round) {
    const std::size_t next = most_wanted(normal, x, is_free);
    if (next == normal.n) break;
    is_free[next] = true;
    settle(normal, x, is_free);
  }
  for (std::size_t i = 0; i < normal.n; ++i) x[i] /= lengths[i];
  return x;
}

std::vector<double> robust_non_negative(const Equations& equations,
                                        std::span<const double> importance) {
  constexpr int rounds = 12;
  Vector weights(importance.begin(), importance.end());
  Vector x;
  for (int round = 0; round < rounds; ++round) {
    x = non_negative_least_squares(equations, weights);
    Vector residuals;
    residuals.reserve(equations.size());
    for (std::size_t i = 0; i < equations.size(); ++i) {
      const auto row = equations.row(i);
      const double fitted = std::inner_product(row.begin(), row.end(), x.begin(), 0.0);
      residuals.push_back(std::abs(fitted - equations.values[i]));
    }
    const double bound = 1.345 * std::max(1.4826 * median(residuals), 1e-6);
    std::transform(residuals.begin(), residuals.end(), importance.begin(), weights.begin(),
                   [bound](double r, double w) { return r <= bound ? w : w * bound / r; });
  }
  return x;
}

}  // namespace dlscale::model
