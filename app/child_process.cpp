#include "app/child_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/interrupt.hpp"

namespace dlscale::app {
namespace {

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) result.emplace_back(*entry);
  for (const auto& [name, value] : variables) {
    // A variable that the user set wins over our default.
    if (getenv(name.c_str()) == nullptr) result.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// A terminal sends Ctrl-C to this process and to the child as well, and a second signal of a kind
/// ends a program of ours at once (core/interrupt.hpp), before its results are on disk. The other
/// kind asks for the same, and not twice.
int other_kind(int signal) {
  return signal == SIGINT ? SIGTERM : SIGINT;
}

/// Waits in short naps rather than in waitpid alone: a signal may arrive just before a blocking
/// call.
int wait_for(pid_t child) {
  int passed_on = 0;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (ended < 0 && errno != EINTR) {
      throw LibraryError(fmt::format("waitpid failed: {}", std::strerror(errno)));
    }
    if (const int signal = pending_signal(); signal != 0 && passed_on == 0) {
      passed_on = signal;
      kill(child, other_kind(signal));
    }
    poll(nullptr, 0, 20);
  }
}

}  // namespace

ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables) {
  EXPECT(!command.empty());
  std::vector<std::string> words = command;
  std::vector<std::string> environment = merged_environment(variables);
  pid_t child = 0;
  const int error = posix_spawnp(&child, command.front().c_str(), nullptr, nullptr,
                                 pointers(words).data(), pointers(environment).data());
  if (error != 0) {
    throw ConfigError(fmt::format("{} cannot be started ({}). Install it or correct the path.",
                                  command.front(), std::strerror(error)));
  }
  return {wait_for(child)};
}

}  // namespace dlscale::app
