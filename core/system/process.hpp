#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {

/// How a child process ended.
struct ChildExit {
  int code = 0;            ///< exit code; 128 + signal if a signal ended it
  bool timed_out = false;  ///< it was ended because of the timeout
};

/// Options of a child process besides its command.
struct ChildOptions {
  std::map<std::string, std::string> variables;  ///< override the user's variables of the same name
  /// File for its output and errors; empty: this process's streams. Of more than 1 GiB the last
  /// 64 MiB stay.
  std::filesystem::path log;
  std::filesystem::path error_log = {};  ///< file for its errors; empty: with its output
  std::optional<double> timeout_s;       ///< time until it and its process group are asked to end
  double time_to_end_s = 5;              ///< grace time until the rest of them is killed
  /// Time until a child that ignores signals is killed with its process group; two seconds after a
  /// second signal. It is less than the 30 s notice that jobs get of their end (sbatch --signal).
  double time_to_heed_s = 20;
  /// Receiver of the signals: the child, which forwards them as launchers do, or its whole process
  /// group, for a shell that does not.
  enum class Signals { to_child, to_group } signals = Signals::to_child;
};

/// From now on SIGUSR1 counts as SIGTERM, also for children: schedulers send it shortly before a
/// job's time is over (sbatch --signal). Only programs that start others call this; MPICH's
/// launcher sends it to ranks for another reason.
void heed_end_of_job();

/// Runs `command` with this process's streams, with `variables` added to the environment, and
/// waits. The child leads its own process group, which a terminal does not signal. While waiting,
/// this process forwards SIGINT and SIGTERM and does not end before the child; it ends a child that
/// ignores them, with its group. The same signal again within a second counts as one. The user's
/// environment has priority over `variables`. Throws ConfigError if the program cannot be started
/// or its log cannot be written.
ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables,
                    const ChildOptions& options = {});

/// The output of a short program that ended.
struct ProgramOutput {
  int code = 0;      ///< exit code; 128 + signal if a signal ended it; not_started if it never ran
  std::string text;  ///< standard output
  std::string errors;  ///< standard error, or why the program could not be started
  static constexpr int not_started = 127;
};

/// Changes to the environment of a short program.
struct ProgramEnvironment {
  std::map<std::string, std::string> variables;  ///< override the user's variables
  std::vector<std::string> removed;              ///< names of variables that it does not inherit
};

/// Runs a short program, such as a query of a scheduler or of git, without input, and waits for it.
ProgramOutput run_program(const std::vector<std::string>& command,
                          const ProgramEnvironment& environment = {});

/// The ExitCode for the end of one of our programs, or of the launcher that ran it. Any other code
/// is a crash: a kill, or a launcher's code for a lost rank.
ExitCode exit_code_of(const ChildExit& child);

/// "ended with exit code 3", "was ended by signal 9 (Killed)".
std::string describe(const ChildExit& child);

}  // namespace dlscale
