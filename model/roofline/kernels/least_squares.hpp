#pragma once
#include <span>
#include <vector>

namespace dlscale::model {

/// A system of equations Σ_j a_ij x_j = y_i, stored by rows.
struct Equations {
  std::size_t unknowns = 0;
  std::vector<double> coefficients;  ///< row by row
  std::vector<double> values;        ///< y
  void add(std::span<const double> row, double value);
  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] std::span<const double> row(std::size_t i) const {
    return std::span(coefficients).subspan(i * unknowns, unknowns);
  }
};

/// x ≥ 0 with the least Σ w_i (Σ_j a_ij x_j - y_i)², by the active set method of C. L. Lawson & R.
/// J. Hanson, Solving Least Squares Problems (1974), chapter 23, on the normal equations with
/// columns of unit length. Columns of zeros get 0. Weights ≥ 0, one a row.
std::vector<double> non_negative_least_squares(const Equations& equations,
                                               std::span<const double> weights);

/// The same with the weights of P. J. Huber's estimator, found by repeated fits. Residuals beyond
/// 1.345 robust standard deviations (1.4826 times the median of |r|) count linearly instead of
/// squared, so that outliers do not bend the fit. `importance` ≥ 0, one a row, multiplies those
/// weights.
std::vector<double> robust_non_negative(const Equations& equations,
                                        std::span<const double> importance);

}  // namespace dlscale::model
