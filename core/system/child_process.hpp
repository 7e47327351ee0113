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
  bool timed_out = false;  ///< it was ended because it took too long
};

/// What a child is given besides its command.
struct ChildOptions {
  std::map<std::string, std::string> variables;  ///< whatever the user has set of that name
  std::filesystem::path log;        ///< takes its output and errors; empty: this process's streams
  std::optional<double> timeout_s;  ///< after which it and its process group are told to end
  double time_to_end_s = 5;         ///< after which what is left of them is made to
  /// After which a child that heeds no signal is killed with its process group; two seconds after
  /// a second signal. Less than the 30 s that jobs are told of their end before (sbatch --signal).
  double time_to_heed_s = 20;
  /// Who gets the signals: the child, which passes them on to its own as launchers do, or all of
  /// its process group, for a shell that does not.
  enum class Signals { to_child, to_group } signals = Signals::to_child;
};

/// SIGUSR1, by which schedulers tell that a job's time is over soon (sbatch --signal), counts as
/// SIGTERM from now on, for children, too. For programs that start others: to ranks MPICH's
/// launcher sends it for another reason.
void heed_end_of_job();

/// Runs `command` with this process's streams, adding `variables` to the environment, and waits.
/// The child leads a process group of its own, which a terminal does not signal; while this process
/// waits it passes SIGINT and SIGTERM on and does not end before the child, which it ends, with its
/// group, if it does not heed them. The same signal again within a second counts as one. What the
/// user has set wins over `variables`. Throws ConfigError if the program cannot be started or its
/// log not be written.
ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables,
                    const ChildOptions& options = {});

/// What the end of a program of ours, or of the launcher that ran it, means by the rules for exit
/// codes. Whatever is none of ours is a crash: killed, or a code of the launcher for a lost rank.
ExitCode exit_code_of(const ChildExit& child);

/// "ended with exit code 3", "was ended by signal 9 (Killed)".
std::string describe(const ChildExit& child);

}  // namespace dlscale
