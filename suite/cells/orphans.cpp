#include "suite/cells/orphans.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "core/system/input_file.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Whether the environment (variables ended by zeros) has our variable with such a value.
bool names_place(std::string_view environment, std::string_view places) {
  const std::string begins = fmt::format("{}={}", cell_variable, places);
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(begins)) return true;
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return false;
}

/// Processes with such a variable. The environments of other users' processes cannot be read.
std::vector<pid_t> orphans(const std::string& places) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (problem != std::errc() || end != name.data() + name.size()) continue;
    if (process == ::getpid()) continue;
    if (names_place(content_of(entry.path() / "environ"), places)) found.push_back(process);
  }
  return found;
}

}  // namespace

std::string place_of(const fs::path& folder, std::string_view name) {
  std::error_code error;
  const fs::path known = fs::weakly_canonical(folder, error);
  return ((error ? fs::absolute(folder).lexically_normal() : known) / name).string();
}

void end_orphans(const std::string& places, std::string_view what) {
  constexpr int patience = 50;  // number of checks; the last half comes after SIGKILL
  for (int look = 0; look < patience; ++look) {
    const std::vector<pid_t> left = orphans(places);
    if (left.empty()) return;
    if (look == 0) {
      fmt::print(stderr, "dlscale: ending {} {} of {} of an earlier call, which was killed\n",
                 left.size(), left.size() == 1 ? "process" : "processes", what);
    }
    if (look == 0 || look == patience / 2) {
      for (const pid_t process : left) ::kill(process, look == 0 ? SIGTERM : SIGKILL);
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
}

}  // namespace dlscale::suite
