#pragma once
#include <optional>
#include <string>

#include "core/text/numbers.hpp"

namespace dlscale::report {

/// An interval by the texts of its ends, "1.2 ms to 1.4 ms". All outputs write intervals so.
inline std::string from_to(const std::string& low, const std::string& high) {
  return low + " to " + high;
}

/// An interval of changes by the ratios at its ends, "+4.0 % to +8.3 %"; an absent end is "?".
inline std::string changes_from_to(std::optional<double> low, std::optional<double> high) {
  const auto end = [](std::optional<double> ratio) {
    return ratio ? signed_percent(*ratio - 1) : std::string("?");
  };
  return from_to(end(low), end(high));
}

}  // namespace dlscale::report
