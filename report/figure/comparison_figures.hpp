#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regression/levels/change_points.hpp"
#include "report/figure/figures.hpp"
#include "report/table/table.hpp"

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
/// not matter, is shaded. At most 60 rows, those farthest from 1 first. Absent without a row.
std::optional<Figure> forest(std::span<const ForestRow> rows, double margin);

/// One metric round by round.
struct PairedRow {
  std::string name;
  std::vector<double> ratios;  ///< in the order of time; above 1 is worse
};

/// "paired": the ratio of each round, one panel for each metric, the margin shaded; it shows drifts
/// and outliers. At most 12 panels. Absent without a row of two rounds.
std::optional<Figure> paired(std::span<const PairedRow> rows, double margin);

/// An event at a point of a history: an alert, an annotation, another machine.
struct StripNote {
  std::size_t at = 0;  ///< index of the first value that it applies to
  std::string label;   ///< a short label that a table explains: "A1 regressed"
  std::string text;    ///< the full text, shown as a tooltip
  /// worse: an orange line below a full triangle; better: a blue one below an empty one; other: a
  /// grey line.
  enum class Kind { other, worse, better } kind = Kind::other;
};

/// One series of a history, oldest first, and the levels found in it.
struct StripRow {
  std::string name;
  std::string unit;
  std::vector<double> values;
  std::vector<std::string> labels;  ///< commits of the points; as many as values, or none
  regression::ChangePoints found;
  std::string remark = {};            ///< shown beside the unit: "smaller is better"
  std::vector<StripNote> notes = {};  ///< in the order of the values
  /// A value that no history holds yet; drawn after the last point.
  std::optional<double> reported = {};
};

/// "history": the last 100 points of each series, the levels of its segments, and marks at changes
/// of level and at notes. At most 24 strips. Absent without a series of two points.
inline constexpr std::size_t most_strips = 24;
std::optional<Figure> history_strips(std::span<const StripRow> rows);

}  // namespace dlscale::report::figure
