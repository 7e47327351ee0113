#pragma once
#include <algorithm>

#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::model {

/// The roofline of a device: the limits of its arithmetic and its memory.
struct Roofline {
  FlopsPerSecond peak;
  BytesPerSecond bandwidth;

  /// P = min(π, β · OI)   [Williams et al. 2009; MODEL 5.1]. OI: operations per byte moved.
  [[nodiscard]] FlopsPerSecond attainable(FlopsPerByte intensity) const {
    return std::min(peak, bandwidth * intensity);
  }
  /// The intensity above which arithmetic, not memory, is the limit.
  [[nodiscard]] FlopsPerByte ridge_point() const { return peak / bandwidth; }
  /// t = max(F/π, Q/β)   [MODEL 5.4]. It is a lower bound without caches and launches.
  [[nodiscard]] Seconds time(const Work& work) const {
    return std::max(work.flops / peak, work.bytes / bandwidth);
  }
};

}  // namespace dlscale::model
