#include "app/suite/cells/conditions.hpp"

#include <array>
#include <fstream>
#include <string>
#include <system_error>

#include "core/system/facts.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

/// Sum of the counts of the kernel's thermal_throttle driver over all processors.
std::optional<std::int64_t> throttle_count(const fs::path& root) {
  constexpr std::array counters{"core_throttle_count", "package_throttle_count"};
  std::optional<std::int64_t> sum;
  std::error_code absent;
  for (const auto& cpu : fs::directory_iterator(root / "sys/devices/system/cpu", absent)) {
    for (const char* counter : counters) {
      std::ifstream stream(cpu.path() / "thermal_throttle" / counter);
      if (std::int64_t count = 0; stream >> count) sum = sum.value_or(0) + count;
    }
  }
  return sum;
}

}  // namespace

Conditions look_at_machine(const fs::path& root) {
  const Facts facts = capture_facts(root, [](const char*) { return nullptr; });
  Conditions conditions;
  std::ifstream load(root / "proc/loadavg");
  std::getline(load, conditions.load);
  conditions.runnable_threads = facts.at("runnable_threads");
  conditions.clocks = facts.at("clocks");
  conditions.throttled = throttle_count(root);
  return conditions;
}

Conditions look_at_machine() {
  return look_at_machine("/");
}

}  // namespace dlscale::app
