#pragma once
#include <memory>
#include <string>

namespace dlscale::backend {

struct NvmlDevice;  ///< NVML's own

/// nvmlFieldValue_t: the requested field and its value. `code` is the status of this field alone.
struct NvmlFieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency = 0;
  int type = 0;  ///< nvmlValueType_t
  int code = 0;
  union {
    double real;
    unsigned whole;
    unsigned long long long_whole;
  } value{};
};

/// The NVML functions in use, with the types of its C interface (NVML API Reference Guide). Code 0
/// is success; clocks are in MHz, power in mW, energy in mJ.
struct NvmlFunctions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int code) = nullptr;
  int (*device_at)(const char* bus_id, NvmlDevice** device) = nullptr;
  int (*clock)(NvmlDevice* device, int kind, unsigned* megahertz) = nullptr;
  int (*power)(NvmlDevice* device, unsigned* milliwatts) = nullptr;
  int (*fields)(NvmlDevice* device, int count, NvmlFieldValue* values) = nullptr;
  int (*temperature)(NvmlDevice* device, int sensor, unsigned* celsius) = nullptr;
  int (*energy)(NvmlDevice* device, unsigned long long* millijoules) = nullptr;
  int (*throttle_reasons)(NvmlDevice* device, unsigned long long* reasons) = nullptr;
  /// Writes up to `count` nvmlProcessInfo_t, whose layout differs between versions, and sets
  /// `count` to their number.
  int (*processes)(NvmlDevice* device, unsigned* count, void* infos) = nullptr;
  int (*driver)(char* text, unsigned length) = nullptr;
  int (*count)(unsigned* devices) = nullptr;
  int (*device_of)(unsigned index, NvmlDevice** device) = nullptr;
  int (*name)(NvmlDevice* device, char* text, unsigned length) = nullptr;
  int (*uuid)(NvmlDevice* device, char* text, unsigned length) = nullptr;
  int (*vbios)(NvmlDevice* device, char* text, unsigned length) = nullptr;
  int (*power_limit)(NvmlDevice* device, unsigned* milliwatts) = nullptr;
  int (*application_clock)(NvmlDevice* device, int kind, unsigned* megahertz) = nullptr;
  int (*ecc)(NvmlDevice* device, unsigned* now, unsigned* after_boot) = nullptr;
  int (*mig)(NvmlDevice* device, unsigned* now, unsigned* after_boot) = nullptr;
};

/// NVML, loaded and initialised for the lifetime of this object.
class NvmlLibrary {
 public:
  /// Throws Unsupported with the reason. Functions that only some versions have may be null.
  explicit NvmlLibrary(const std::string& library);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  [[nodiscard]] const NvmlFunctions& functions() const { return functions_; }
  [[nodiscard]] std::string text(int code) const;

 private:
  struct Close {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Close> handle_;
  NvmlFunctions functions_;
};

}  // namespace dlscale::backend
