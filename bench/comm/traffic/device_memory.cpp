#include "bench/comm/traffic/device_memory.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

/// Size of a copy that reaches the full bandwidth of the bus.
constexpr std::size_t large_copy = std::size_t{4} << 20U;

}  // namespace

DeviceMemory::DeviceMemory(backend::ComputeDevice& device, std::size_t bytes)
    : device_(&device),
      bytes_(bytes),
      memory_(device.allocate(bytes)),
      courier_(device.courier()) {}

void DeviceMemory::write(std::span<const std::byte> from) {
  EXPECT(from.size() <= bytes_);
  courier_->carry(from.data(), memory_.get(), from.size());
}

void DeviceMemory::read(std::span<std::byte> to) {
  EXPECT(to.size() <= bytes_);
  courier_->carry(memory_.get(), to.data(), to.size());
}

void DeviceMemory::fill(std::span<const std::byte> pattern) {
  EXPECT(!pattern.empty());
  const std::size_t times = std::max<std::size_t>(1, std::min(large_copy, bytes_) / pattern.size());
  const std::size_t piece = times * pattern.size();
  if (!repeated_) {
    repeated_ = device_->allocate_on_host(piece);
    for (std::size_t at = 0; at < piece; at += pattern.size()) {
      std::memcpy(repeated_.get() + at, pattern.data(), pattern.size());
    }
  }
  for (std::size_t at = 0; at < bytes_; at += piece) {
    courier_->carry(repeated_.get(), memory_.get() + at, std::min(piece, bytes_ - at));
  }
  device_->touch(memory_.get(), bytes_);
  device_->synchronize();
}

}  // namespace dlscale::bench
