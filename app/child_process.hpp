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
/// While it waits, SIGINT and SIGTERM are passed on to the child, each as the other: the child may
/// have had the same signal from the terminal. Throws ConfigError if the program cannot be started.
ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace dlscale::app
