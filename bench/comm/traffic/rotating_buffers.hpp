#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Device memory for messages, which the host reads and writes by copies. A copy is complete when
/// the call returns, so a communicator may start at once.
class DeviceMemory {
 public:
  /// `device` must outlive it. Throws what ComputeDevice::allocate() does.
  DeviceMemory(backend::ComputeDevice& device, std::size_t bytes);

  /// The memory on the device, which the host must not access.
  [[nodiscard]] std::span<std::byte> there() const { return {memory_.get(), bytes_}; }
  void write(std::span<const std::byte> from);
  void read(std::span<std::byte> to);
  /// Fills the memory with the repeated pattern, which is always the same. The device's caches are
  /// left as after writing all of it.
  void fill(std::span<const std::byte> pattern);

 private:
  backend::ComputeDevice* device_;
  std::size_t bytes_;
  backend::Buffer memory_;
  backend::Buffer repeated_;  ///< host memory: the pattern repeated to the size of one copy
  std::unique_ptr<backend::CopyStream> copy_stream_;
};

/// Bytes of a cache line.
inline constexpr std::size_t cache_line = 64;

/// `bytes` rounded up to whole cache lines.
constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + cache_line - 1) / cache_line * cache_line;
}

/// Memory for messages of one size. In training a gradient was written long before it is sent, or
/// was never in the cache of the sending core. Rotated buffers are as cold; a single buffer is hot.
class RotatingBuffers {
 public:
  enum class Filled { every_turn, once };
  /// Makes one buffer of `bytes` if `size` is zero, else enough to fill `size`: flush_size() for
  /// cold ones. The repeated `pattern`, at least one byte, fills them. They are in memory of
  /// `device`, which must outlive them, or of the host if it is null.
  RotatingBuffers(std::size_t bytes, std::span<const std::byte> pattern, Bytes size,
                  Filled filled = Filled::every_turn, backend::ComputeDevice* device = nullptr);
  /// Returns the next buffer. Filled::every_turn refills all buffers in order after each cycle, so
  /// that the next to be used was touched longest ago; `once` does not.
  std::span<std::byte> next();
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  /// Alignment to a page, so that the position in cache lines and pages does not vary.
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
  std::vector<std::byte> line_;                ///< one or more cache lines filled with the pattern
  std::unique_ptr<std::byte[], Free> memory_;  ///< null if the buffers are on a device
  std::optional<DeviceMemory> there_;
};

}  // namespace dlscale::bench
