#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale::bench {

/// Points first, …, first + count - 1, which one straight line describes. With the same data and
/// 95 % confidence the stretch might have ended, and the next one begun, at any point from
/// `end_low` to `end_high`; the last stretch ends with the data.
struct Stretch {
  std::size_t first = 0;
  std::size_t count = 0;
  double slope = 0;  ///< of y by x; 0 for a single point
  std::size_t end_low = 0;
  std::size_t end_high = 0;
};

/// Cuts a curve into straight stretches, which need not join: those that make
///
///   Σ over stretches of  Σ (y - line)² / σ²  +  (parameters + 1) ln n
///
/// smallest, where a line has two parameters, a single point one, and the place of the cut counts
/// as another: Schwarz' criterion, under which the number of cuts found tends to the true one [Yao
/// 1988], minimised over all cuts by dynamic programming [Jackson et al. 2005]. σ is the noise of
/// y as its second differences show it, with a median, so that the cuts themselves don't count; at
/// least `least_noise`, below which a deviation is not of interest. Points that stick out alone are
/// drawn in first (running median of three, which leaves a curve that only rises as it is).
/// The interval of a cut holds the places where it raises the sum by at most 3.84, the 95 %
/// quantile of χ² with one degree of freedom, the other cuts being the best ones for it.
/// Wrong where the noise is not independent from point to point: a slow drift is cut in pieces.
///
/// Requires equally many x, which grow, and y; least_noise > 0.
std::vector<Stretch> straight_stretches(std::span<const double> x, std::span<const double> y,
                                        double least_noise);

}  // namespace dlscale::bench
