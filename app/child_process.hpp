#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace dlscale::app {

/// How a child process ended.
struct ChildExit {
  int code = 0;  ///< exit code; 128 + signal if a signal ended it
};

/// Runs `command` with this process's streams, adding `variables` to the environment, and waits.
/// The child leads a process group of its own, which a terminal does not signal; while this process
/// waits it passes SIGINT and SIGTERM on and does not end before the child. The same signal again
/// within a second counts as one. Throws ConfigError if the program cannot be started.
ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables);

/// What a child is given beside its command.
struct ChildSettings {
  std::vector<std::pair<std::string, std::string>> variables;  ///< as above
  /// A file for its standard output and errors; empty: those of this process.
  std::filesystem::path output;
  /// Who gets the signals: the child, which passes them on to its own as launchers do, or all of
  /// its process group, for a shell that does not.
  enum class Signals { to_child, to_group } signals = Signals::to_child;
};
/// The same. Throws ConfigError, too, if the file cannot be written.
ChildExit run_child(const std::vector<std::string>& command, const ChildSettings& settings);

/// What the end of a program of ours, or of the launcher that ran it, means by the rules for exit
/// codes. Whatever is none of ours is a crash: killed, or a code of the launcher for a lost rank.
ExitCode exit_code_of(const ChildExit& child);

/// "ended with exit code 3", "was ended by signal 9 (Killed)".
std::string describe(const ChildExit& child);

}  // namespace dlscale::app
