namespace {

int copy(const char* from, char* to, unsigned length) {
  for (unsigned i = 0; i < length; ++i) {
    to[i] = from[i];
    if (from[i] == 0) return 0;
  }
  return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
}

/// nvmlFieldValue_t
struct Field {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  int code;
  unsigned value;
  unsigned rest;
};

int gpus[2];

bool same(const char* a, const char* b) {
  int i = 0;
  while (a[i] != 0 && a[i] == b[i]) ++i;
  return a[i] == b[i];
}

}  // namespace

/// A library with the interface of NVML and two GPUs, for the monitor to load. The one at
/// 0000:3b:00.0 has an energy counter that goes on by 2 J with each reading, and no temperature;
/// the driver of that at 0000:5e:00.0 does not tell the power of this moment.
// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlShutdown() {
  return 0;
}

const char* nvmlErrorString(int code) {
  return code == 6 ? "Not Found" : "Not Supported";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  const bool is_first = same(bus_id, "0000:3b:00.0");
  if (!is_first && !same(bus_id, "0000:5e:00.0")) return 6;
  *device = is_first ? &gpus[0] : &gpus[1];
  return 0;
}

int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return copy("575.57.08", text, length);
}

int nvmlDeviceGetCount_v2(unsigned* devices) {
  *devices = 1;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return index == 0 ? nvmlDeviceGetHandleByPciBusId_v2("0000:3b:00.0", device) : 6;
}

int nvmlDeviceGetName(void* /*device*/, char* text, unsigned length) {
  return copy("Fake H200", text, length);
}

int nvmlDeviceGetUUID(void* /*device*/, char* text, unsigned length) {
  return copy("GPU-1234", text, length);
}

int nvmlDeviceGetPowerManagementLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}

int nvmlDeviceGetApplicationsClock(void* /*device*/, int /*kind*/, unsigned* /*megahertz*/) {
  return 3;
}

int nvmlDeviceGetEccMode(void* /*device*/, unsigned* now, unsigned* after_boot) {
  *now = 1;
  *after_boot = 0;
  return 0;
}

int nvmlDeviceGetMigMode(void* /*device*/, unsigned* now, unsigned* after_boot) {
  *now = 0;
  *after_boot = 0;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* /*infos*/) {
  if (device != &gpus[0]) return 3;
  const bool fits = *count >= 2;
  *count = 2;
  return fits ? 0 : 7;
}

int nvmlDeviceGetClockInfo(void* /*device*/, int kind, unsigned* megahertz) {
  *megahertz = kind == 1 ? 1980 : 3201;
  return 0;
}

int nvmlDeviceGetPowerUsage(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 655250;
  return 0;
}

int nvmlDeviceGetFieldValues(void* device, int count, Field* values) {
  constexpr unsigned power_instant = 186;
  for (int i = 0; i < count; ++i) {
    Field& each = values[i];
    each.code = device == &gpus[0] && each.field == power_instant && each.scope == 0 ? 0 : 3;
    each.type = 1;  // NVML_VALUE_TYPE_UNSIGNED_INT
    each.value = 701500;
  }
  return 0;
}

int nvmlDeviceGetTemperature(void* /*device*/, int /*sensor*/, unsigned* /*celsius*/) {
  return 3;
}

int nvmlDeviceGetTotalEnergyConsumption(void* /*device*/, unsigned long long* millijoules) {
  static unsigned long long so_far = 5000000000;
  *millijoules = so_far;
  so_far += 2000;
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* reasons) {
  *reasons = 0x41;
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
