#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

#include "backend/power/device_monitor.hpp"

namespace dlscale::bench {

/// A device whose clock falls by 1 Hz and whose energy counter goes on by 3 J with each reading.
class FakeMonitor final : public backend::DeviceMonitor {
 public:
  explicit FakeMonitor(std::uint64_t reasons = 0, int processes = 1)
      : reasons_(reasons), processes_(processes) {}
  [[nodiscard]] std::optional<int> processes() override { return processes_; }
  [[nodiscard]] backend::DeviceState read() override {
    const double n = readings_++;  // by one thread at a time
    return {.processor_clock_hz = 1e9 - n,
            .memory_clock_hz = 2e9,
            .power_w = 300,
            .temperature_c = {},
            .energy_j = 100 + 3 * n,
            .throttle_reasons = reasons_};
  }
  [[nodiscard]] int readings() const { return readings_; }

 private:
  std::uint64_t reasons_;
  int processes_;
  std::atomic<int> readings_ = 0;
};

}  // namespace dlscale::bench
