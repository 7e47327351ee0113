#include "bench/comm/traffic/rotating_buffers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

/// Size of a copy that reaches the full bandwidth of the bus.
constexpr std::size_t large_copy = std::size_t{4} << 20U;

std::size_t buffers_for(std::size_t stride, Bytes size) {
  if (size <= Bytes(0)) return 1;
  return static_cast<std::size_t>(std::ceil(size.si() / static_cast<double>(stride))) + 1;
}

/// The repeated pattern in whole cache lines.
std::vector<std::byte> lines_of(std::span<const std::byte> pattern) {
  std::vector<std::byte> lines(std::lcm(cache_line, pattern.size()));
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = pattern[i % pattern.size()];
  return lines;
}

}  // namespace

DeviceMemory::DeviceMemory(backend::ComputeDevice& device, std::size_t bytes)
    : device_(&device),
      bytes_(bytes),
      memory_(device.allocate(bytes)),
      copy_stream_(device.copy_stream()) {}

void DeviceMemory::write(std::span<const std::byte> from) {
  EXPECT(from.size() <= bytes_);
  copy_stream_->copy(from.data(), memory_.get(), from.size());
}

void DeviceMemory::read(std::span<std::byte> to) {
  EXPECT(to.size() <= bytes_);
  copy_stream_->copy(memory_.get(), to.data(), to.size());
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
    copy_stream_->copy(repeated_.get(), memory_.get() + at, std::min(piece, bytes_ - at));
  }
  device_->touch(memory_.get(), bytes_);
  device_->synchronize();
}

RotatingBuffers::RotatingBuffers(std::size_t bytes, std::span<const std::byte> pattern, Bytes size,
                                 Filled filled, backend::ComputeDevice* device)
    : bytes_(bytes),
      stride_(whole_lines(bytes)),
      count_(buffers_for(stride_, size)),
      filled_(filled),
      line_(lines_of(pattern)) {
  EXPECT(bytes >= 1 && !pattern.empty());
  if (device != nullptr) {
    there_.emplace(*device, stride_ * count_);
  } else {
    memory_.reset(static_cast<std::byte*>(::operator new[](stride_* count_, page)));
  }
}

std::span<std::byte> RotatingBuffers::next() {
  if (turn_ == 0 && (filled_ == Filled::every_turn || !is_filled_)) fill();
  const std::span<std::byte> buffer(begin() + turn_ * stride_, bytes_);
  turn_ = (turn_ + 1) % count_;
  return buffer;
}

std::byte* RotatingBuffers::begin() const {
  return there_ ? there_->there().data() : memory_.get();
}

void RotatingBuffers::fill() {
  is_filled_ = true;
  if (there_) return there_->fill(line_);
  const std::size_t all = stride_ * count_;
  std::size_t filled = std::min(line_.size(), all);
  std::memcpy(memory_.get(), line_.data(), filled);
  while (filled < all) {
    const std::size_t more = std::min(filled, all - filled);
    std::memcpy(memory_.get() + filled, memory_.get(), more);
    filled += more;
  }
}

}  // namespace dlscale::bench
