#include "backend/compute/host_device.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {
namespace {

using Clock = std::chrono::steady_clock;

Seconds elapsed(Clock::time_point from, Clock::time_point to) {
  return Seconds(std::chrono::duration<double>(to - from).count());
}

/// A mark that is made when all earlier work is done.
class HostMark final : public Mark {
 public:
  void wait() const override {}
  [[nodiscard]] Seconds since(const Mark& earlier) const override {
    return elapsed(dynamic_cast<const HostMark&>(earlier).passed_, passed_);
  }

 private:
  Clock::time_point passed_ = Clock::now();
};

class HostCopyStream final : public CopyStream {
 public:
  void copy(const std::byte* from, std::byte* to, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
};

/// A recording that repeats the work. The replay costs the host as much as the original.
class HostRecording final : public Recording {
 public:
  explicit HostRecording(std::function<void()> work) : work_(std::move(work)) {}
  void play() override { work_(); }

 private:
  std::function<void()> work_;
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

void HostDevice::copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

std::unique_ptr<Recording> HostDevice::record(std::function<void()> work) {
  return std::make_unique<HostRecording>(std::move(work));
}

std::unique_ptr<Mark> HostDevice::mark() {
  synchronize();
  return std::make_unique<HostMark>();
}

Timed HostDevice::time(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  synchronize();
  return {.device = elapsed(start, Clock::now()), .host = Seconds()};
}

std::unique_ptr<CopyStream> HostDevice::copy_stream() {
  return std::make_unique<HostCopyStream>();
}

}  // namespace dlscale::backend
