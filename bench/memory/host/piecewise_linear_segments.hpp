#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale::bench {

/// A segment: points first, …, first + count - 1 on one straight line. With 95 % confidence it
/// ends, and the next one begins, between points `end_low` and `end_high`. The last segment ends
/// with the data.
struct Segment {
  std::size_t first = 0;
  std::size_t count = 0;
  double slope = 0;  ///< dy/dx; 0 for a single point
  std::size_t end_low = 0;
  std::size_t end_high = 0;
};

/// Cuts a curve into line segments, which need not join. It minimises this sum over all cuts:
///
///   Σ over segments of  Σ (y - line)² / σ²  +  (parameters + 1) ln n
///
/// Here a line has two parameters, a single point has one, and the cut counts as one more. This is
/// Schwarz' criterion, under which the number of cuts tends to the true one [Yao 1988]. Dynamic
/// programming finds the minimum [Jackson et al. 2005]. σ is the noise of y, from the median of its
/// second differences, so that the cuts themselves do not count. It is at least `least_noise`,
/// below which deviations do not matter. Isolated outliers are first removed by a running median of
/// three, which keeps a monotonic curve.
///
/// The interval of a cut holds the places where it raises the sum by at most 3.84, the 95 %
/// quantile of χ² with one degree of freedom, with the other cuts at their best.
///
/// Wrong where the noise is not independent from point to point: a slow drift is cut in pieces.
///
/// Requires ascending x, as many y, and least_noise > 0.
std::vector<Segment> piecewise_linear_segments(std::span<const double> x, std::span<const double> y,
                                               double least_noise);

}  // namespace dlscale::bench
