#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "backend/compute/compute.hpp"
#include "bench/comm/traffic/device_memory.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Memory for messages of one size. In training a gradient was written long before it travels, or
/// has never been in the cache of the core that sends it: buffers taken in turn are as cold. A
/// single buffer is hot.
class RotatingBuffers {
 public:
  enum class Filled { every_turn, once };
  /// One buffer of `bytes` if `size` is zero, else as many as fill it: flush_size() for cold ones.
  /// `pattern`, of at least a byte, fills them again and again. They lie in memory of `device`,
  /// which outlives them, or of the host's where that is null.
  RotatingBuffers(std::size_t bytes, std::span<const std::byte> pattern, Bytes size,
                  Filled filled = Filled::every_turn, backend::ComputeDevice* device = nullptr);
  /// The next buffer. When all had their turn all are filled anew, in the same order, so that the
  /// next to be used is the one touched longest ago; or else they are as they were left.
  std::span<std::byte> next();
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  /// Memory that begins with a page: where messages lie in lines and pages is no matter of chance.
  static constexpr std::align_val_t page{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, page); }
  };

  void fill();
  [[nodiscard]] std::byte* begin() const;

  std::size_t bytes_;
  std::size_t stride_;
  std::size_t count_;
  std::size_t turn_ = 0;
  Filled filled_;
  bool is_filled_ = false;
  std::vector<std::byte> line_;                ///< of cache, or several, filled with the pattern
  std::unique_ptr<std::byte[], Free> memory_;  ///< null where they lie on a device
  std::optional<DeviceMemory> there_;
};

}  // namespace dlscale::bench
