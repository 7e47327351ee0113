#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace dlscale::app {

/// The condition of this process's machine at one moment.
struct Conditions {
  std::string load;              ///< /proc/loadavg
  std::string runnable_threads;  ///< their number, or why it is unknown
  std::string clocks;            ///< the minimum and maximum over its processors, or why unknown
  /// Number of thermal throttling events of its processors since it was started; nothing if the
  /// kernel does not count them.
  std::optional<std::int64_t> throttled;
};

Conditions look_at_machine();
/// For tests: `root` is a tree that looks like /.
Conditions look_at_machine(const std::filesystem::path& root);

}  // namespace dlscale::app
