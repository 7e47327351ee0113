#include "backend/power/device_monitor.hpp"

#include <fmt/format.h>

#include "backend/power/nvml_library.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// nvmlClockType_t and nvmlTemperatureSensors_t.
constexpr int clock_of_processors = 1;
constexpr int clock_of_memory = 2;
constexpr int sensor_of_chip = 0;
/// NVML_FI_DEV_POWER_INSTANT, in milliwatts.
constexpr unsigned power_now = 186;
/// NVML_ERROR_INSUFFICIENT_SIZE: the list is longer than the buffer.
constexpr int too_little_room = 7;

/// Result of `function`, times `scale`, if the function exists and succeeds.
template <class Value, class Function, class... Arguments>
std::optional<double> scaled(double scale, Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != 0) return {};
  return scale * static_cast<double>(value);
}

std::optional<double> number_in(const NvmlFieldValue& field) {
  constexpr int whole = 1;  // nvmlValueType_t
  constexpr int long_whole = 2;
  constexpr int long_long_whole = 3;
  if (field.type == whole) return static_cast<double>(field.value.whole);
  if (field.type != long_whole && field.type != long_long_whole) return {};
  return static_cast<double>(field.value.long_whole);
}

/// A field of the whole device, if NVML reports it.
std::optional<double> field_of(const NvmlFunctions& nvml, NvmlDevice* device, unsigned field) {
  NvmlFieldValue asked;
  asked.field = field;
  const bool told =
      nvml.fields != nullptr && nvml.fields(device, 1, &asked) == 0 && asked.code == 0;
  return told ? number_in(asked) : std::nullopt;
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
    state.power_w = power();
    state.temperature_c = scaled<unsigned>(1, nvml.temperature, device_, sensor_of_chip);
    state.energy_j = scaled<unsigned long long>(1e-3, nvml.energy, device_);
    state.throttle_reasons = reasons();
    return state;
  }

  [[nodiscard]] std::optional<int> processes() override {
    const auto function = library_.functions().processes;
    unsigned count = 0;
    const int code = function == nullptr ? 1 : function(device_, &count, nullptr);
    if (code != 0 && code != too_little_room) return {};
    return static_cast<int>(count);
  }

 private:
  /// Power at this moment. Versions of NVML without this field have only nvmlDeviceGetPowerUsage,
  /// which reports the mean of one second on GPUs since Ampere, except GA100.
  [[nodiscard]] std::optional<double> power() const {
    const NvmlFunctions& nvml = library_.functions();
    const auto now = field_of(nvml, device_, power_now);
    return now ? 1e-3 * *now : scaled<unsigned>(1e-3, nvml.power, device_);
  }

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
