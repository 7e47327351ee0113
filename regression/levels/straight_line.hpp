#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale::regression {

/// x_i = start + slope · i, by the index i of a point.
struct StraightLine {
  double start = 0;
  double slope = 0;
  [[nodiscard]] double at(std::size_t i) const { return start + slope * static_cast<double>(i); }
};

inline constexpr std::size_t least_of_resistant_line = 6;

/// The line through the medians of the first and the last third, as far up as the median of what is
/// left [Tukey 1977]. Requires `least_of_resistant_line` points.
StraightLine resistant_line(std::span<const double> x);

/// One step of least squares from a line, by residuals clipped at ± limit.
StraightLine clipped_line(std::span<const double> x, const StraightLine& line, double limit);

/// Sum of the squares of such residuals.
double clipped_loss(std::span<const double> x, const StraightLine& line, double limit);

/// The least such sum about a level and the line that begins at its end, wherever that is.
double loss_of_ramp(std::span<const double> x, double limit);

/// Σ (i − ī)² of n points.
double squares_of_places(std::size_t n);

}  // namespace dlscale::regression
