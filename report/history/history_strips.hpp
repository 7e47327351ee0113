#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regression/levels/change_points.hpp"
#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// An event at a point of a history: an alert, an annotation, another machine.
struct StripNote {
  std::size_t at = 0;  ///< index of the first value that it applies to
  std::string label;   ///< "regressed"; "E1", whose letter the caption explains
  std::string text;    ///< the full text, shown as a tooltip
  /// worse: an orange line below a full triangle; better: a blue one below an empty one; other: a
  /// grey line.
  enum class Kind { other, worse, better } kind = Kind::other;
};

/// One series of a history, oldest first, and the levels found in it.
struct StripRow {
  std::string name;  ///< in full, for the table
  std::string unit;
  std::vector<double> values;
  std::vector<std::string> labels;  ///< commits of the points; as many as values, or none
  regression::ChangePoints found;
  std::string remark = {};            ///< shown beside the unit: "lower is better"
  std::vector<StripNote> notes = {};  ///< in the order of the values
  /// A value that no history holds yet; drawn after the last point.
  std::optional<double> reported = {};
  std::string title = {};   ///< a short name; empty: the name
  std::string latest = {};  ///< above the last points: "last 3 worse: no change yet"
};

/// "history": the last 100 points of each series, the levels of its segments, and marks at changes
/// of level and at notes, below a legend. At most 24 strips. Absent without a series of two points.
inline constexpr std::size_t most_strips = 24;
std::optional<Figure> history_strips(std::span<const StripRow> rows);

}  // namespace dlscale::report::figure
