#include "backend/host/topology.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include <unistd.h>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

using std::filesystem::path;

int number_in(const path& file, int otherwise) {
  std::ifstream in(file);
  int value = otherwise;
  return in >> value ? value : otherwise;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "unknown processor";
}

std::vector<HardwareThread> hardware_threads() {
  std::map<std::pair<int, int>, std::vector<int>> cores;  // (package, core) → thread numbers
  const int count = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  for (int number = 0; number < count; ++number) {
    const path folder = "/sys/devices/system/cpu/cpu" + std::to_string(number);
    if (number_in(folder / "online", 1) == 0) continue;
    cores[{number_in(folder / "topology/physical_package_id", 0),
           number_in(folder / "topology/core_id", number)}]
        .push_back(number);
  }
  std::vector<HardwareThread> threads;
  int core = 0;
  for (const auto& [key, numbers] : cores) {
    for (std::size_t place = 0; place < numbers.size(); ++place) {
      threads.push_back({numbers[place], core, static_cast<int>(place)});
    }
    ++core;
  }
  return threads;
}

}  // namespace

Topology read_topology() {
  std::vector<HardwareThread> threads = hardware_threads();
  if (threads.empty()) throw LibraryError("/sys/devices/system/cpu lists no processor.");
  return {
      .processor = processor_name(),
      .source = "/proc and /sys",
      .threads = std::move(threads),
      .caches = {},
  };
}

}  // namespace dlscale::backend
