/// NVML where no driver is loaded.
extern "C" {

int nvmlInit_v2() {
  return 9;
}

int nvmlShutdown() {
  return 1;
}

const char* nvmlErrorString(int /*code*/) {
  return "Driver Not Loaded";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* /*bus_id*/, void** /*device*/) {
  return 1;
}
}
