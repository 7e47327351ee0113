#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlscale::backend {

/// What a device says of itself at one moment. What it does not tell is absent.
struct DeviceState {
  std::optional<double> processor_clock_hz;  ///< of the multiprocessors
  std::optional<double> memory_clock_hz;
  /// Of the whole board, at this moment; by drivers that cannot tell that, the mean of a second.
  std::optional<double> power_w;
  std::optional<double> temperature_c;            ///< of the chip
  std::optional<double> energy_j;                 ///< since the driver was loaded
  std::optional<std::uint64_t> throttle_reasons;  ///< bits, see core/results/throttling.hpp
};

/// Reads the state of one device. Any thread may read, one at a time.
class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;
  [[nodiscard]] virtual DeviceState read() = 0;
  /// Processes that have the device open for computing, this one included; nothing if it does not
  /// tell.
  [[nodiscard]] virtual std::optional<int> processes() { return std::nullopt; }
};

/// The monitor of the GPU with that PCI address ("0000:3B:00.0"), by NVML. `library` is what the
/// dynamic linker is asked for. Throws Unsupported saying why there is none: no NVML here, no
/// driver, no such GPU.
std::unique_ptr<DeviceMonitor> open_nvml(const std::string& bus_id,
                                         const std::string& library = "libnvidia-ml.so.1");

}  // namespace dlscale::backend
