#include "backend/power/nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Unsupported(
      fmt::format("clocks, power and temperature of the GPU are not known ({}). They need NVML, "
                  "which comes with NVIDIA's driver.",
                  reason));
}

std::string linker_message() {
  const char* message = ::dlerror();
  return message == nullptr ? "no reason given" : message;
}

/// The first of the names that the library exports; null if none.
template <class Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (function == nullptr) function = reinterpret_cast<Function>(::dlsym(library, name));
  }
}

NvmlFunctions functions_of(void* library) {
  NvmlFunctions all;
  find(library, all.init, {"nvmlInit_v2"});
  find(library, all.shutdown, {"nvmlShutdown"});
  find(library, all.error_text, {"nvmlErrorString"});
  find(library, all.device_at, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(library, all.clock, {"nvmlDeviceGetClockInfo"});
  find(library, all.power, {"nvmlDeviceGetPowerUsage"});
  find(library, all.fields, {"nvmlDeviceGetFieldValues"});
  find(library, all.temperature, {"nvmlDeviceGetTemperature"});
  find(library, all.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, all.throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, all.processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
        "nvmlDeviceGetComputeRunningProcesses"});
  find(library, all.driver, {"nvmlSystemGetDriverVersion"});
  find(library, all.count, {"nvmlDeviceGetCount_v2"});
  find(library, all.device_of, {"nvmlDeviceGetHandleByIndex_v2"});
  find(library, all.name, {"nvmlDeviceGetName"});
  find(library, all.uuid, {"nvmlDeviceGetUUID"});
  find(library, all.vbios, {"nvmlDeviceGetVbiosVersion"});
  find(library, all.power_limit, {"nvmlDeviceGetPowerManagementLimit"});
  find(library, all.application_clock, {"nvmlDeviceGetApplicationsClock"});
  find(library, all.ecc, {"nvmlDeviceGetEccMode"});
  find(library, all.mig, {"nvmlDeviceGetMigMode"});
  return all;
}

}  // namespace

void NvmlLibrary::Close::operator()(void* handle) const noexcept {
  static_cast<void>(::dlclose(handle));
}

NvmlLibrary::NvmlLibrary(const std::string& library)
    : handle_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) refuse(linker_message());
  functions_ = functions_of(handle_.get());
  const bool usable = functions_.init != nullptr && functions_.shutdown != nullptr &&
                      functions_.device_at != nullptr;
  if (!usable) refuse(fmt::format("{} lacks functions of NVML", library));
  if (const int code = functions_.init(); code != 0) refuse("nvmlInit_v2: " + text(code));
}

NvmlLibrary::~NvmlLibrary() {
  static_cast<void>(functions_.shutdown());
}

std::string NvmlLibrary::text(int code) const {
  const char* words = functions_.error_text == nullptr ? nullptr : functions_.error_text(code);
  return words == nullptr ? fmt::format("code {}", code) : words;
}

}  // namespace dlscale::backend
