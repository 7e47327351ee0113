#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dlscale::app {

/// How the machine of this process stands at one moment.
struct Conditions {
  std::string load;              ///< /proc/loadavg
  std::string runnable_threads;  ///< now, or why that is not known
  std::string clocks;            ///< the least and the most of its processors, or why not known
  /// How often its processors have been slowed since it was started, because they were too hot;
  /// nothing where the kernel does not count.
  std::optional<std::int64_t> throttled;
};

Conditions look_at_machine();
/// Of a tree that looks like /, for tests.
Conditions look_at_machine(const std::filesystem::path& root);

}  // namespace dlscale::app
