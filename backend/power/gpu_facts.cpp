#include "backend/power/gpu_facts.hpp"

#include <fmt/format.h>

#include <array>

#include "backend/power/nvml_library.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Buffer larger than NVML's limits for its texts.
using Text = std::array<char, 256>;

/// Text for the error code of a function.
std::string reason(const NvmlLibrary& nvml, int code) {
  return unavailable(nvml.text(code));
}

constexpr const char* lacks_function = "this version of NVML lacks the function";

/// Result of `function` for these arguments.
template <class Function, class... Arguments>
std::string text_of(const NvmlLibrary& nvml, Function function, Arguments... arguments) {
  if (function == nullptr) return unavailable(lacks_function);
  Text text{};
  const int code = function(arguments..., text.data(), static_cast<unsigned>(text.size()));
  return code == 0 ? std::string(text.data()) : reason(nvml, code);
}

template <class Function, class... Arguments>
std::string number_of(const NvmlLibrary& nvml, double scale, const char* unit, Function function,
                      Arguments... arguments) {
  if (function == nullptr) return unavailable(lacks_function);
  unsigned value = 0;
  const int code = function(arguments..., &value);
  return code == 0 ? fmt::format("{} {}", scale * value, unit) : reason(nvml, code);
}

/// State of a mode: nvmlEnableState_t, or a MIG mode, current and pending; 0 is off.
template <class Function>
std::string mode_of(const NvmlLibrary& nvml, Function function, NvmlDevice* device) {
  if (function == nullptr) return unavailable(lacks_function);
  unsigned now = 0;
  unsigned after_boot = 0;
  const int code = function(device, &now, &after_boot);
  if (code != 0) return reason(nvml, code);
  return now == 0 ? "off" : "on";
}

std::string describe(const NvmlLibrary& nvml, NvmlDevice* device) {
  constexpr int processors = 1;  // nvmlClockType_t
  const NvmlFunctions& ask = nvml.functions();
  return fmt::format("{}; UUID {}; VBIOS {}; power limit {}; application clock {}; ECC {}; MIG {}",
                     text_of(nvml, ask.name, device), text_of(nvml, ask.uuid, device),
                     text_of(nvml, ask.vbios, device),
                     number_of(nvml, 1e-3, "W", ask.power_limit, device),
                     number_of(nvml, 1, "MHz", ask.application_clock, device, processors),
                     mode_of(nvml, ask.ecc, device), mode_of(nvml, ask.mig, device));
}

}  // namespace

Facts gpu_facts(const std::string& library) {
  Facts facts;
  try {
    const NvmlLibrary nvml(library);
    const NvmlFunctions& ask = nvml.functions();
    facts["gpu_driver"] = text_of(nvml, ask.driver);
    unsigned devices = 0;
    const bool counted = ask.count != nullptr && ask.device_of != nullptr;
    const int code = counted ? ask.count(&devices) : 0;
    if (!counted || code != 0) {
      facts["gpu"] = counted ? reason(nvml, code) : unavailable(lacks_function);
      return facts;
    }
    if (devices == 0) facts["gpu"] = unavailable("NVML sees no GPU");
    for (unsigned i = 0; i < devices; ++i) {
      NvmlDevice* device = nullptr;
      const int found = ask.device_of(i, &device);
      facts[fmt::format("gpu_{}", i)] = found == 0 ? describe(nvml, device) : reason(nvml, found);
    }
  } catch (const Unsupported& error) {
    facts["gpu"] = unavailable(error.what());
  }
  return facts;
}

}  // namespace dlscale::backend
