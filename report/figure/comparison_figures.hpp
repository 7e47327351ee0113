#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/figures.hpp"

namespace dlscale::report::figure {

/// One metric of a comparison. A ratio above 1 is worse.
struct ForestRow {
  std::string name;
  double ratio = 1;
  std::optional<double> low;  ///< absent: the interval is unbounded on this side
  std::optional<double> high;
  std::string verdict;  ///< a word beside the mark, so that the verdict does not depend on colour
  bool worse = false;
  bool better = false;
};

/// "forest": one row for each metric with ratio and interval; the band up to `margin`, which does
/// not matter, is shaded. `interval` names the interval, with its level, and `measured` what
/// changed: "time of an iteration". At most 60 rows, those farthest from 1 first. Absent without a
/// row.
std::optional<Figure> forest(std::span<const ForestRow> rows, double margin,
                             std::string_view interval = "95 % interval",
                             std::string_view measured = "");

/// One metric round by round.
struct PairedRow {
  std::string name;
  std::vector<double> ratios;  ///< in the order of time; above 1 is worse
};

/// "paired": the ratio of each round, one panel for each metric, the margin shaded; it shows drifts
/// and outliers. At most 12 panels. Absent without a row of two rounds.
std::optional<Figure> paired(std::span<const PairedRow> rows, double margin);

}  // namespace dlscale::report::figure
