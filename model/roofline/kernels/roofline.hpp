#pragma once
#include <algorithm>

#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::model {

/// The roofline of a device: what its arithmetic and its memory allow at best.
struct Roofline {
  FlopsPerSecond peak;
  BytesPerSecond bandwidth;

  /// P = min(π, β · OI)   [Williams et al. 2009; MODEL 5.1]. OI: operations per byte moved.
  [[nodiscard]] FlopsPerSecond attainable(FlopsPerByte intensity) const {
    return std::min(peak, bandwidth * intensity);
  }
  /// The intensity from which on arithmetic limits and memory does not.
  [[nodiscard]] FlopsPerByte ridge_point() const { return peak / bandwidth; }
  /// t = max(F/π, Q/β)   [MODEL 5.4]. A lower bound: caches and launches are not in it.
  [[nodiscard]] Seconds time(const Work& work) const {
    return std::max(work.flops / peak, work.bytes / bandwidth);
  }
};

}  // namespace dlscale::model
