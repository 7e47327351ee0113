#pragma once
#include <chrono>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// Time of one call of body(), on the host's clock.
template <class Body>
Seconds timed(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace dlscale::bench
