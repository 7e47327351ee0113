#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// A speed-up over one rank, with the ends of its interval if it has one.
struct SpeedupPoint {
  int ranks = 1;
  double speedup = 1;
  std::optional<double> low = {};
  std::optional<double> high = {};
  bool communication_bound = false;
};

/// The predicted speed-ups of one setting by ascending ranks, and measured ones.
struct SpeedupLine {
  std::string name;  ///< may be empty if it is the only line
  std::vector<SpeedupPoint> points = {};
  std::vector<SpeedupPoint> measured = {};
};

/// "speedup": predicted speed-up against ranks with its 90 % interval as a band, measured points
/// with their 95 % interval, the ideal line, and the number of ranks from which communication
/// bounds the first line. Each line ends at its name, speed-up and efficiency. Both axes are
/// logarithmic. Draws at most 6 lines, and only points above 0. Absent without a line of two
/// points.
std::optional<Figure> speedup_lines(std::span<const SpeedupLine> lines);

}  // namespace dlscale::report::figure
