#include <fmt/format.h>

#include "backend/power/device_monitor.hpp"
#include "backend/power/nvml_library.hpp"
#include "core/error.hpp"

namespace dlscale::backend {
namespace {

/// nvmlClockType_t and nvmlTemperatureSensors_t.
constexpr int clock_of_processors = 1;
constexpr int clock_of_memory = 2;
constexpr int sensor_of_chip = 0;

/// What `function` writes, times `scale`, if it is there and succeeds.
template <class Value, class Function, class... Arguments>
std::optional<double> scaled(double scale, Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != 0) return {};
  return scale * static_cast<double>(value);
}

class NvmlMonitor final : public DeviceMonitor {
 public:
  NvmlMonitor(const std::string& bus_id, const std::string& library) : library_(library) {
    const int code = library_.functions().device_at(bus_id.c_str(), &device_);
    if (code == 0) return;
    throw Unsupported(fmt::format(
        "clocks, power and temperature of the GPU are not known (NVML has no GPU at {}: {}). Use "
        "nvidia-smi to see which it has.",
        bus_id, library_.text(code)));
  }

  [[nodiscard]] DeviceState read() override {
    const NvmlFunctions& nvml = library_.functions();
    DeviceState state;
    state.processor_clock_hz = scaled<unsigned>(1e6, nvml.clock, device_, clock_of_processors);
    state.memory_clock_hz = scaled<unsigned>(1e6, nvml.clock, device_, clock_of_memory);
    state.power_w = scaled<unsigned>(1e-3, nvml.power, device_);
    state.temperature_c = scaled<unsigned>(1, nvml.temperature, device_, sensor_of_chip);
    state.energy_j = scaled<unsigned long long>(1e-3, nvml.energy, device_);
    state.throttle_reasons = reasons();
    return state;
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> reasons() const {
    const auto function = library_.functions().throttle_reasons;
    unsigned long long bits = 0;
    if (function == nullptr || function(device_, &bits) != 0) return {};
    return bits;
  }

  NvmlLibrary library_;
  NvmlDevice* device_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMonitor> open_nvml(const std::string& bus_id, const std::string& library) {
  return std::make_unique<NvmlMonitor>(bus_id, library);
}

}  // namespace dlscale::backend
