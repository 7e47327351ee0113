#pragma once
#include <optional>
#include <string>
#include <vector>

#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// A part of the difference of two times.
struct WaterfallStep {
  std::string name;
  double seconds = 0;              ///< above 0: longer
  std::optional<double> low = {};  ///< ends of the 95 % interval, s; absent if unknown
  std::optional<double> high = {};
};

/// From one time to another by steps that add up to the difference.
struct Waterfall {
  std::string subject;  ///< what took the time
  double before = 0;    ///< s
  double after = 0;     ///< s
  std::vector<WaterfallStep> steps = {};
};

/// "waterfall": the time before, a floating bar for each step, and the time after, from top to
/// bottom. Steps below a thousandth of the time before are only in the table. Absent without a
/// time.
std::optional<Figure> waterfall(const Waterfall& from_a_to_b);

}  // namespace dlscale::report::figure
