#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// Memory of a device for messages, which the host writes and reads by way of copies. What is
/// copied is there, or here, when a call returns, so that a communicator may begin with it.
class DeviceMemory {
 public:
  /// `device` outlives it. Throws what ComputeDevice::allocate() does.
  DeviceMemory(backend::ComputeDevice& device, std::size_t bytes);

  /// Where it lies: the host must not touch it.
  [[nodiscard]] std::span<std::byte> there() const { return {memory_.get(), bytes_}; }
  void write(std::span<const std::byte> from);
  void read(std::span<std::byte> to);
  /// Writes the pattern, always the same, over and over. The caches of the device are left as by
  /// one that has just written all of it.
  void fill(std::span<const std::byte> pattern);

 private:
  backend::ComputeDevice* device_;
  std::size_t bytes_;
  backend::Buffer memory_;
  backend::Buffer repeated_;  ///< of the host: the pattern as often as copies are large
  std::unique_ptr<backend::Courier> courier_;
};

}  // namespace dlscale::bench
