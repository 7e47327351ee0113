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
      kill(child, signal);
    }
    poll(nullptr, 0, 20);
  }
}

/// A process group of its own: a terminal sends Ctrl-C to a whole group, so that the child would
/// get the signal twice, from the terminal and from here. A second one ends a program of ours and
/// MPI's launcher at once, before results are on disk.
class OwnGroup {
 public:
  OwnGroup() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~OwnGroup() { posix_spawnattr_destroy(&attributes_); }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace

ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables) {
  EXPECT(!command.empty());
  std::vector<std::string> words = command;
  std::vector<std::string> environment = merged_environment(variables);
  const OwnGroup group;
  pid_t child = 0;
  const int error = posix_spawnp(&child, command.front().c_str(), nullptr, group.get(),
                                 pointers(words).data(), pointers(environment).data());
  if (error != 0) {
    throw ConfigError(fmt::format("{} cannot be started ({}). Install it or correct the path.",
                                  command.front(), std::strerror(error)));
  }
  return {wait_for(child)};
}

}  // namespace dlscale::app
