#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "core/units.hpp"

namespace dlscale::bench {

/// Messages of one size. In training a gradient was written long before it travels, or has never
/// been in the cache of the core that sends it: buffers taken in turn are as cold. A single buffer
/// is hot.
class RotatingBuffers {
 public:
  /// One buffer if `size` is zero, else as many as fill it: flush_size() for cold ones.
  RotatingBuffers(std::size_t elements, Bytes size);
  /// The next buffer, filled with ones. When all had their turn all are filled anew, in the same
  /// order, so that the next to be used is the one touched longest ago.
  std::span<float> next();
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t elements_;
  std::size_t stride_;
  std::size_t count_;
  std::size_t turn_ = 0;
  std::unique_ptr<float[]> memory_;
};

}  // namespace dlscale::bench
