#pragma once
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale::fuzz {

inline void expect_time(std::string_view what, Seconds time) {
  if (std::isfinite(time.si()) && time.si() >= 0) return;
  throw std::logic_error(fmt::format("{} is {} s", what, time.si()));
}

inline void expect_rate(std::string_view what, double rate) {
  if (std::isfinite(rate) && rate > 0) return;
  throw std::logic_error(fmt::format("{} is {}", what, rate));
}

}  // namespace dlscale::fuzz
