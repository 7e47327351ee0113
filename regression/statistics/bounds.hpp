#pragma once
#include <optional>

namespace dlscale::report {

/// One-sided confidence bounds of a location, each at the level 1 − α; both together hold with 1 −
/// 2α. Absent if there are too few values for a bound at that level.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
};

}  // namespace dlscale::report
