#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlscale::backend {

/// State that a device reports at one moment. Unreported values are absent.
struct DeviceState {
  std::optional<double> processor_clock_hz;  ///< of the multiprocessors
  std::optional<double> memory_clock_hz;
  /// Power of the whole board at this moment; older drivers report only the mean of one second.
  std::optional<double> power_w;
  std::optional<double> temperature_c;            ///< of the chip
  std::optional<double> energy_j;                 ///< since the driver was loaded
  std::optional<std::uint64_t> throttle_reasons;  ///< bits, see core/results/measurement.hpp
};

/// Reads the state of one device. Any thread may read, one at a time.
class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;
  [[nodiscard]] virtual DeviceState read() = 0;
  /// Number of processes that have the device open for computing, this one included; nothing if the
  /// device does not report it.
  [[nodiscard]] virtual std::optional<int> processes() { return std::nullopt; }
};

/// The NVML monitor of the GPU with that PCI address ("0000:3B:00.0"). `library` is the name for
/// the dynamic linker. Throws Unsupported with the reason: no NVML here, no driver, no such GPU.
std::unique_ptr<DeviceMonitor> open_nvml(const std::string& bus_id,
                                         const std::string& library = "libnvidia-ml.so.1");

}  // namespace dlscale::backend
