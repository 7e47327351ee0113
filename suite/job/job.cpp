#include "suite/job/job.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/interrupt.hpp"
#include "core/system/facts.hpp"
#include "core/system/input_file.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Whether the environment (variables ended by zeros) has our variable with such a value.
bool names_place(std::string_view environment, std::string_view places) {
  const std::string begins = fmt::format("{}={}", place_variable, places);
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(begins)) return true;
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return false;
}

std::vector<pid_t> other_processes() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    const bool is_process = problem == std::errc() && end == name.data() + name.size();
    if (is_process && process != ::getpid()) found.push_back(process);
  }
  return found;
}

/// Processes with such a variable. The environments of other users' processes cannot be read. While
/// a process starts another program it has no environment, so it is looked at again.
std::vector<pid_t> orphans(const std::string& places) {
  constexpr int looks = 3;
  std::vector<pid_t> found;
  std::vector<pid_t> processes = other_processes();
  for (int look = 0; look < looks && !processes.empty(); ++look) {
    if (look > 0) std::this_thread::sleep_for(milliseconds(10));
    std::vector<pid_t> without_environment;
    for (const pid_t process : processes) {
      const std::string environment = content_of(fmt::format("/proc/{}/environ", process));
      if (environment.empty()) without_environment.push_back(process);
      if (names_place(environment, places)) found.push_back(process);
    }
    processes = std::move(without_environment);
  }
  return found;
}

void end_processes(const std::string& places, std::string_view what) {
  constexpr int patience = 50;  // number of checks; the last half comes after SIGKILL
  for (int look = 0; look < patience; ++look) {
    const std::vector<pid_t> left = orphans(places);
    if (left.empty()) return;
    if (look == 0) {
      fmt::print(stderr, "dlscale: ending {} {} of {}\n", left.size(),
                 left.size() == 1 ? "process" : "processes", what);
    }
    if (look == 0 || look == patience / 2) {
      for (const pid_t process : left) ::kill(process, look == 0 ? SIGTERM : SIGKILL);
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
}

/// Waits briefly for a late signal. A scheduler that ends a job may signal its programs before it
/// signals this process. The job was then interrupted as well and has not crashed.
void look_for_late_signal(const ChildExit& exit) {
  const ExitCode code = exit_code_of(exit);
  const bool was_signalled = exit.code > 128 || code == ExitCode::interrupted;
  for (int look = 0; was_signalled && !exit.timed_out && look < 20; ++look) {
    if (pending_signal() != 0) return;
    std::this_thread::sleep_for(milliseconds(100));
  }
}

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

JobEnd run_job(const Job& job) {
  ChildOptions options{.variables = job.variables,
                       .log = job.log,
                       .error_log = job.error_log,
                       .timeout_s = job.timeout_s,
                       .signals = job.signals};
  options.variables[place_variable] = job.place;
  JobEnd end;
  end.before = look_at_machine();
  const auto start = std::chrono::steady_clock::now();
  end.exit = run_child(job.command, job.defaults, options);
  end.wall =
      Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  const bool failed = end.exit.code != 0 || end.exit.timed_out;
  if (failed && job.leftovers == Job::Leftovers::are_ended) {
    end_processes(job.place, "a command that failed");
  }
  look_for_late_signal(end.exit);
  throw_if_interrupted();
  end.after = look_at_machine();
  return end;
}

std::string place_of(const fs::path& folder, std::string_view name) {
  std::error_code error;
  const fs::path known = fs::weakly_canonical(folder, error);
  return ((error ? fs::absolute(folder).lexically_normal() : known) / name).string();
}

void end_orphans(const std::string& places, std::string_view what) {
  end_processes(places, fmt::format("{} of an earlier call, which was killed", what));
}

}  // namespace dlscale::suite
