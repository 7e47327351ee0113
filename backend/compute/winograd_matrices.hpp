#pragma once
#include <array>
#include <cstdint>
#include <numeric>

/// The matrices of F(m, r), which computes m outputs of a filter of r taps by alpha = m + r - 1
/// multiplications:
///   y = Aᵀ [(G g) ⊙ (Bᵀ d)],  y_i = Σ_k g_k d_{i+k}.
/// They are the transpose of Toom and Cook's product of two polynomials, which evaluates both at
/// alpha-1 points and infinity, multiplies, and interpolates. Sources: S. Winograd, Arithmetic
/// Complexity of Computations, 1980; K. Vincent et al., ICLR 2017 workshop. The matrices are exact
/// and computed at compile time.
namespace dlscale::backend::minimal_filtering {

/// A fraction in lowest terms with a positive denominator, for small numbers. Only the compiler
/// checks for overflow, where the value is a constant.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(std::int64_t numerator, std::int64_t denominator = 1)
      : numerator_(numerator), denominator_(denominator) {
    const std::int64_t divisor = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
    numerator_ /= divisor;
    denominator_ /= divisor;
  }

  friend constexpr Rational operator+(Rational a, Rational b) {
    return {a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_,
            a.denominator_ * b.denominator_};
  }
  friend constexpr Rational operator-(Rational a, Rational b) { return a + Rational(-1) * b; }
  friend constexpr Rational operator*(Rational a, Rational b) {
    return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
  }
  friend constexpr Rational operator/(Rational a, Rational b) {
    return {a.numerator_ * b.denominator_, a.denominator_ * b.numerator_};
  }
  friend constexpr bool operator==(Rational a, Rational b) = default;

  [[nodiscard]] constexpr double value() const {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }

 private:
  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;
};

template <class T, int rows, int columns>
using Table = std::array<std::array<T, columns>, rows>;

/// The finite points: 0 and then pairs p, -p, so that rows of transforms share their even and their
/// odd terms. They are near 1 and have few bits, so that Aᵀ and Bᵀ are exact in f32. F(4, 3) has
/// the points of oneDNN (G_4x4_3x3 in its wino_reorder.hpp), which err half as much as the usual 0,
/// ±1, ±2 (winograd_test.cpp compares them). F(6, 3) has the usual ones.
template <int alpha>
constexpr std::array<Rational, alpha - 1> points() {
  static_assert(alpha == 4 || alpha == 6 || alpha == 8);
  if constexpr (alpha == 4) {
    return {0, 1, -1};
  } else if constexpr (alpha == 6) {
    return {0, {5, 8}, {-5, 8}, {3, 2}, {-3, 2}};
  } else {
    return {0, 1, -1, 2, -2, {1, 2}, {-1, 2}};
  }
}

/// The coefficients of Π (x - p_l) over all points but number `without`, lowest power first.
template <int alpha>
constexpr std::array<Rational, alpha> monic_polynomial(int without) {
  std::array<Rational, alpha> coefficients;
  coefficients.fill(0);
  coefficients[0] = 1;
  for (int l = 0; l < alpha - 1; ++l) {
    if (l == without) continue;
    const Rational p = points<alpha>()[l];
    for (int j = alpha - 1; j > 0; --j) {
      coefficients[j] = coefficients[j - 1] - p * coefficients[j];
    }
    coefficients[0] = Rational(-1) * p * coefficients[0];
  }
  return coefficients;
}

/// n columns of the powers of each point; infinity has (0, …, 0, 1).
template <int alpha, int n>
constexpr Table<Rational, alpha, n> powers() {
  Table<Rational, alpha, n> rows{};
  for (int i = 0; i < alpha - 1; ++i) {
    rows[i][0] = 1;
    for (int j = 1; j < n; ++j) rows[i][j] = rows[i][j - 1] * points<alpha>()[i];
  }
  rows[alpha - 1][n - 1] = 1;
  return rows;
}

/// Bᵀ, alpha × alpha: row i is the polynomial that is 0 at all points but the i-th. It depends on
/// alpha alone, so F(m, r) and F(r, m) share it.
template <int alpha>
constexpr Table<Rational, alpha, alpha> data_matrix() {
  Table<Rational, alpha, alpha> rows{};
  for (int i = 0; i < alpha; ++i) rows[i] = monic_polynomial<alpha>(i);
  return rows;
}

/// G, alpha × r: evaluates the filter, divided by the value of Bᵀ's polynomial at its own point.
template <int m, int r>
constexpr Table<Rational, m + r - 1, r> filter_matrix() {
  constexpr int alpha = m + r - 1;
  auto rows = powers<alpha, r>();
  for (int i = 0; i < alpha - 1; ++i) {
    Rational divisor = 1;
    for (int l = 0; l < alpha - 1; ++l) {
      if (l != i) divisor = divisor * (points<alpha>()[i] - points<alpha>()[l]);
    }
    for (Rational& element : rows[i]) element = element / divisor;
  }
  return rows;
}

/// Aᵀ, m × alpha.
template <int m, int r>
constexpr Table<Rational, m, m + r - 1> output_matrix() {
  constexpr int alpha = m + r - 1;
  const auto columns = powers<alpha, m>();
  Table<Rational, m, alpha> rows{};
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < alpha; ++j) rows[i][j] = columns[j][i];
  }
  return rows;
}

template <std::size_t rows, std::size_t columns>
constexpr auto rounded(const std::array<std::array<Rational, columns>, rows>& exact) {
  std::array<std::array<float, columns>, rows> result{};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      result[i][j] = static_cast<float>(exact[i][j].value());
    }
  }
  return result;
}

}  // namespace dlscale::backend::minimal_filtering
