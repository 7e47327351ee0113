/// A library that is called NVML and is none.
extern "C" int nvmlInit_v2() {
  return 0;
}
