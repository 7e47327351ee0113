#include "backend/compute/host_device.hpp"

#include <chrono>
#include <cstring>

#include "backend/compute/buffer.hpp"

namespace dlscale::backend {
namespace {

using Clock = std::chrono::steady_clock;

Seconds elapsed(Clock::time_point from, Clock::time_point to) {
  return Seconds(std::chrono::duration<double>(to - from).count());
}

/// Made when everything before it is done.
class HostMark final : public Mark {
 public:
  void wait() const override {}
  [[nodiscard]] Seconds since(const Mark& earlier) const override {
    return elapsed(dynamic_cast<const HostMark&>(earlier).passed_, passed_);
  }

 private:
  Clock::time_point passed_ = Clock::now();
};

class HostCourier final : public Courier {
 public:
  void carry(const std::byte* from, std::byte* to, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
};

}  // namespace

Buffer HostDevice::allocate(std::size_t bytes) {
  return allocate_host(bytes);
}

Buffer HostDevice::allocate_on_host(std::size_t bytes) {
  return allocate_host(bytes);
}

void HostDevice::clear(std::byte* data, std::size_t bytes) {
  std::memset(data, 0, bytes);
}

void HostDevice::touch(std::byte* data, std::size_t bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < bytes; i += line) {
    auto* first = reinterpret_cast<volatile unsigned char*>(data + i);
    *first = *first;
  }
}

std::unique_ptr<Mark> HostDevice::mark() {
  synchronize();
  return std::make_unique<HostMark>();
}

Seconds HostDevice::time(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  synchronize();
  return elapsed(start, Clock::now());
}

std::unique_ptr<Courier> HostDevice::courier() {
  return std::make_unique<HostCourier>();
}

}  // namespace dlscale::backend
