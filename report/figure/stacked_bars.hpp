#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// A part of a stacked bar.
struct StackPart {
  std::string name;
  double value = 0;  ///< s or bytes
};

/// A time or memory in parts that add up. All bars of a figure have the same parts in the same
/// order.
struct StackedBar {
  std::string name;        ///< "16 ranks", "measured"
  std::string group = {};  ///< a heading above the first bar of equal groups; may be empty
  std::vector<StackPart> parts = {};
  std::optional<double> low = {};  ///< ends of the interval of the sum; absent if unknown
  std::optional<double> high = {};
  std::string remark = {};           ///< behind the bar: an error
  std::optional<double> total = {};  ///< where it is not the sum, as medians of parts have it
};

/// Stacked bars with their sums beside their names, and their intervals. Labels of parts stand
/// above the longest bar.
struct StackedBars {
  std::string name;      ///< of the figure and of its file
  std::string title;     ///< subject: "Where the time of an iteration goes"
  std::string axis;      ///< with its unit, and which way is worse
  std::string interval;  ///< "90 % interval"; empty if no bar has one
  std::vector<StackedBar> bars = {};
  std::size_t most = 24;  ///< bars that are drawn; the others are only in the table
  std::string unit = "ms";
  double factor = 1e3;               ///< from values to the unit
  std::string remarks = "error";     ///< heading of the remarks of its bars
  std::optional<double> limit = {};  ///< a value that bars should not exceed: memory of a device
  std::string whiskers = {};         ///< bars that have one, if not all: "the fullest stage"
  std::string counted = {};          ///< bars or pairs, as the title counts them; may be empty
  std::size_t bars_each = 1;         ///< in one of these
};

/// Absent without a bar that takes time.
std::optional<Figure> stacked_bars(const StackedBars& figure);

}  // namespace dlscale::report::figure
