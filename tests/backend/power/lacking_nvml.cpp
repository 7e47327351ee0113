/// A library that is called NVML and is none.
// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
extern "C" int nvmlInit_v2() {
  return 0;
}
// NOLINTEND(readability-identifier-naming)
