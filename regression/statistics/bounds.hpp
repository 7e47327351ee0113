#pragma once
#include <optional>

namespace dlscale::report {

/// One-sided confidence bounds of a location, each at the level 1 − α it was asked for; so the two
/// together hold with 1 − 2α. Absent where so few values give no bound at that level.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
};

}  // namespace dlscale::report
