#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace dlscale::model {

/// The same times in s. Requires `count` of them, all ≥ 0 and finite (EXPECT).
inline std::vector<double> plain_times(const std::vector<Seconds>& times, std::size_t count) {
  EXPECT(times.size() == count);
  std::vector<double> result;
  result.reserve(count);
  for (const Seconds time : times) {
    EXPECT(std::isfinite(time.si()) && time.si() >= 0);
    result.push_back(time.si());
  }
  return result;
}

}  // namespace dlscale::model
