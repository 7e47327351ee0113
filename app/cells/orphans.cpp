#include "app/cells/orphans.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "app/cells/store.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Whether one of the variables, each ended by a zero, is the cell's and names a folder of `work`.
bool names_cell(std::string_view environment, std::string_view work) {
  const std::string begins = fmt::format("{}={}/", cell_variable, work);
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(begins)) return true;
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return false;
}

/// Those of others cannot be read, and are none of ours.
std::vector<pid_t> orphans(const std::string& work) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (problem != std::errc() || end != name.data() + name.size()) continue;
    if (process == ::getpid()) continue;
    std::ifstream stream(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(stream), {}};
    if (names_cell(environment, work)) found.push_back(process);
  }
  return found;
}

}  // namespace

void end_orphans(const fs::path& work) {
  constexpr int patience = 50;  // looks, of which the last half comes after SIGKILL
  const std::string place = work.lexically_normal().string();
  for (int look = 0; look < patience; ++look) {
    const std::vector<pid_t> left = orphans(place);
    if (left.empty()) return;
    if (look == 0) {
      fmt::print(stderr, "dlscale: ending {} of a cell of an earlier call, which was killed\n",
                 report::counted(static_cast<long long>(left.size()), "process"));
    }
    if (look == 0 || look == patience / 2) {
      for (const pid_t process : left) ::kill(process, look == 0 ? SIGTERM : SIGKILL);
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
}

}  // namespace dlscale::app
