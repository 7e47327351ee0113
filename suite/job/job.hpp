#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/system/process.hpp"

namespace dlscale::suite {

/// The condition of this process's machine at one moment.
struct Conditions {
  std::string load;              ///< /proc/loadavg
  std::string runnable_threads;  ///< their number, or why it is unknown
  std::string clocks;            ///< the minimum and maximum over its processors, or why unknown
  /// Number of thermal throttling events of its processors since it was started; nothing if the
  /// kernel does not count them.
  std::optional<std::int64_t> throttled;
};

/// `root` is a tree that looks like /, for tests.
Conditions look_at_machine(const std::filesystem::path& root = "/");

/// A program that is started and waited for: a step of a suite, a cell, or a run in a round.
struct Job {
  std::vector<std::string> command;
  /// An absolute path of its own, by which its processes are found later (place_of).
  std::string place;
  std::map<std::string, std::string> variables{};               ///< override the user's variables
  std::vector<std::pair<std::string, std::string>> defaults{};  ///< the user's variables win
  std::filesystem::path log{};                                  ///< empty: this process's streams
  std::filesystem::path error_log{};                            ///< empty: errors are in the log
  std::optional<double> timeout_s{};
  ChildOptions::Signals signals = ChildOptions::Signals::to_child;
  /// Processes that a failed job leaves running. Only who holds the lock of its place may end them:
  /// otherwise they may be those of another call.
  enum class Leftovers { stay, are_ended } leftovers = Leftovers::stay;
};

/// How a job ended.
struct JobEnd {
  ChildExit exit;
  Seconds wall;
  Conditions before;
  Conditions after;
};

/// Runs a job and waits for it. A signal of this process ends the job, too: then it throws
/// Interrupted, also if the signal comes a little after the end of the job. Throws ConfigError if
/// the job cannot be started.
JobEnd run_job(const Job& job);

/// The place of a job `name` in `folder`: an absolute path that does not depend on the spelling of
/// the folder.
std::string place_of(const std::filesystem::path& folder, std::string_view name);

/// The environment variable that holds the place of a job. Its children inherit it even in other
/// process groups, and unlike a process id it is never reused.
inline constexpr const char* place_variable = "_DLSCALE_CELL";

/// Ends this user's processes on this machine whose place begins with `places`. Processes left by a
/// killed program would disturb the next measurement and hold its files. Call it only if no other
/// program works there. `what` names their origin on standard error: "a cell".
void end_orphans(const std::string& places, std::string_view what);

/// The time limit of one call.
class TimeBudget {
 public:
  /// The budget in seconds from now; infinite: no limit.
  explicit TimeBudget(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double left() const {
    return seconds_ - std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace dlscale::suite
