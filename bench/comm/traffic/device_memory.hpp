#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "backend/compute/compute.hpp"

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
  std::unique_ptr<backend::Courier> courier_;
};

}  // namespace dlscale::bench
