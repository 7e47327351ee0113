#pragma once
#include <string>
#include <utility>
#include <vector>

namespace dlscale::app {

/// How a child process ended.
struct ChildExit {
  int code = 0;  ///< exit code; 128 + signal if a signal ended it
};

/// Runs `command` with this process's streams, adding `variables` to the environment, and waits.
/// The child leads a process group of its own, which a terminal does not signal; while this process
/// waits it passes the first SIGINT or SIGTERM on, so that the child gets it once. Throws
/// ConfigError if the program cannot be started.
ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace dlscale::app
