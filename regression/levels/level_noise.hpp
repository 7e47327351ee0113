#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dlscale::regression {

/// Standard deviations beyond which a residual is clipped.
inline constexpr double clip = 2.5;
/// Differences of logarithms below are rounding errors.
inline constexpr double rounding_error = 1e-12;
/// A share beyond what sums of the same numbers in another order differ by.
inline constexpr double order_of_sums = 1e-9;

/// The median, which reorders the values. Requires at least one.
double quick_median(std::vector<double>& values);

/// A value no farther from 0 than `limit`; defined here since loops over points call it.
inline double clipped(double value, double limit) {
  return std::clamp(value, -limit, limit);
}

/// Variance of the mean of k neighbours with the correlation ρ over that of one, times k.
double inflation(double rho, double k);

/// The sum of f(0) … f(n − 1), in four chains that a processor adds at once.
template <class Term>
double sum_in_chains(std::size_t n, Term f) {
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t chain = 0; chain < 4; ++chain) sums[chain] += f(i + chain);
  }
  for (; i < n; ++i) sums[0] += f(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Standard deviation of so many normal residuals, from the median of their sizes.
double robust_deviation(double median_size, std::size_t count);
/// The same, but at least half the mean of their sizes, for residuals that are mostly equal because
/// they were rounded.
double scale_of(double median_size, double mean_size, std::size_t count);

struct NoiseOfLevels {
  double scale = 0;        ///< robust standard deviation
  double variance = 0;     ///< of clipped residuals
  double correlation = 0;  ///< of neighbours
  double freedom = 2;      ///< degrees of freedom of the variance
  /// Student's quantile that has the error of the normal quantile z; at least z.
  [[nodiscard]] double quantile(double z) const;
  /// Standard error of the mean of so many neighbours; at least √(variance / points).
  [[nodiscard]] double error_of_mean(std::size_t points) const;
};

/// Distances of points from their levels, in the order of time.
class LevelResiduals {
 public:
  /// Appends those of one level or line, which the caller sets. Its first point has no neighbour.
  std::span<double> add(std::size_t count);
  void keep_latest(std::size_t most);
  [[nodiscard]] std::span<const double> values() const { return values_; }

  /// The noise of all, or of the latest if that has grown.
  [[nodiscard]] NoiseOfLevels noise();

  struct Least {
    double scale = 0;
    double variance = 0;
  };
  /// Bounds that noise() is not below, found without a median: near it if `scale` is a little below
  /// its own. Empty if the noise may have grown.
  [[nodiscard]] std::optional<Least> least_noise(double scale) const;

 private:
  [[nodiscard]] NoiseOfLevels noise_since(std::size_t first);
  template <class Look>
  void each_recent(Look look) const;

  std::vector<double> values_;
  std::vector<unsigned char> follows_;  ///< 1: the one before is its neighbour
  std::vector<double> scratch_;
};

}  // namespace dlscale::regression
