#pragma once
#include <string>

#include "core/base/units.hpp"

namespace dlscale::model {

/// A duration with four significant digits: "12.34 s", "45.6 min", "7.25 h", "3.4 days".
std::string duration_text(Seconds time);

}  // namespace dlscale::model
