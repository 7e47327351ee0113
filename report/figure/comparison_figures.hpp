#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regression/statistics/change_points.hpp"
#include "report/figure/figures.hpp"

namespace dlscale::report::figure {

/// One metric of a comparison. Ratios with the sign "+ = worse": above 1 is worse.
struct ForestRow {
  std::string name;
  double ratio = 1;
  std::optional<double> low;  ///< absent: the interval has no end on this side
  std::optional<double> high;
  std::string verdict;  ///< a word beside the mark, so that colour is not all that tells
  bool worse = false;
  bool better = false;
};

/// "forest": a row a metric, its ratio and interval, the band of changes up to `margin`, which do
/// not matter, shaded. At most 60 rows, those farthest from 1 first. Nothing without a row.
std::optional<Figure> forest(std::span<const ForestRow> rows, double margin);

/// One metric round by round.
struct PairedRow {
  std::string name;
  std::vector<double> ratios;  ///< in the order of time, + = worse
};

/// "paired": the ratio of each round, a panel a metric, the margin shaded: drifts and outliers show
/// at a glance. At most 12 panels. Nothing without a row of two rounds.
std::optional<Figure> paired(std::span<const PairedRow> rows, double margin);

/// What happened at a point of a history: an alert, an annotation, another machine.
struct StripNote {
  std::size_t at = 0;  ///< index of the first value that it is true of
  std::string label;   ///< a few letters: "A1", which a table explains
  std::string text;    ///< all of it, where a pointer rests
};

/// One series of a history, oldest first, and the levels that were found in it.
struct StripRow {
  std::string name;
  std::string unit;
  std::vector<double> values;
  std::vector<std::string> labels;  ///< of the points: commits; as many as values, or none
  ChangePoints found;
  std::string remark = {};              ///< beside the unit: "smaller is better"
  std::vector<StripNote> notes = {};    ///< in the order of the values
  std::optional<double> reported = {};  ///< a value that is in no history yet: drawn after the last
};

/// "history": the last 100 points of each series with the levels of its segments, a mark where the
/// level changed and another for each note. At most 24 strips. Nothing without a series of two
/// points.
inline constexpr std::size_t most_strips = 24;
std::optional<Figure> history_strips(std::span<const StripRow> rows);

}  // namespace dlscale::report::figure
