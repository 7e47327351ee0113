#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// A choice, with two numbers that should both be small.
struct ParetoPoint {
  std::string name;   ///< "16 ranks, batch 128, bucketed"
  std::string label;  ///< beside the drawing, in up to 35 characters: "16 ranks"
  double x = 0;
  double y = 0;
  bool best = false;                 ///< by the objective
  bool front = true;                 ///< no other choice is better in both: mark_front()
  std::optional<double> x_low = {};  ///< ends of the 90 % interval of x; absent if unknown
  std::optional<double> x_high = {};
  std::optional<double> y_low = {};  ///< the same of y
  std::optional<double> y_high = {};
};

/// The two axes, with units.
struct ParetoAxes {
  std::string x;
  std::string y;
  std::string words = {};  ///< what signs in labels mean; may be empty
};

/// Marks the points that no other beats: at most as large in both numbers, and smaller in one. Of
/// equal points it marks the first.
void mark_front(std::vector<ParetoPoint>& points);

/// "front": choices by two numbers. A staircase bounds what the front beats in both, a ring marks
/// the best, whiskers show intervals of the front, and the best and at most 9 points of the front
/// have their label. Absent without two points.
std::optional<Figure> pareto_front(const std::vector<ParetoPoint>& points, const ParetoAxes& axes);

}  // namespace dlscale::report::figure
