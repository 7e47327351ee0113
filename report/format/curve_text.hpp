#pragma once
#include <string>

#include "report/table/table.hpp"

namespace dlscale::report::format {

/// The curve in characters of Braille, below its name, with the ideal dotted and the ends of both
/// axes as numbers: 9 lines of 47 columns. Axes begin at 0. Empty for fewer than 3 points.
std::string curve_text(const Curve& curve);

}  // namespace dlscale::report::format
