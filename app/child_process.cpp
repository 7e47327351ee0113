#include "app/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

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

/// As nohup wants it.
bool is_ignored(int signal) {
  struct sigaction action = {};
  EXPECT(sigaction(signal, nullptr, &action) == 0);
  return action.sa_handler == SIG_IGN;
}

/// SIGINT, SIGTERM, SIGCHLD and, unless it is ignored, SIGHUP are blocked while this object lives,
/// and taken off the queue one by one: none comes between a look and a wait, and none ends this
/// process before its child knows.
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&awaited_);
    for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&awaited_, signal);
    if (!is_ignored(SIGHUP)) sigaddset(&awaited_, SIGHUP);
    EXPECT(pthread_sigmask(SIG_BLOCK, &awaited_, &before_) == 0);
  }
  ~SignalQueue() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  /// As it was, for the child.
  [[nodiscard]] const sigset_t& mask_before() const { return before_; }
  /// The next signal.
  [[nodiscard]] int wait() const {
    int signal = 0;
    while (sigwait(&awaited_, &signal) != 0) {
    }
    return signal;
  }

 private:
  sigset_t awaited_{};
  sigset_t before_{};
};

/// Hands signals to a child. A second one ends it at once, so that what is meant as one must not
/// arrive twice: timeout(1) and some launchers signal a process and then its group.
class Messenger {
 public:
  explicit Messenger(pid_t receiver) : receiver_(receiver) {}
  void pass_on(int signal) {
    const auto now = std::chrono::steady_clock::now();
    if (signal == last_ && now - time_ < std::chrono::seconds(1)) return;
    last_ = signal;
    time_ = now;
    kill(receiver_, signal);
  }

 private:
  pid_t receiver_;  ///< below 0: all of a process group
  int last_ = 0;
  std::chrono::steady_clock::time_point time_;
};

/// Whether the child has ended, and how.
std::optional<ChildExit> look_at(pid_t child) {
  int status = 0;
  const pid_t ended = waitpid(child, &status, WNOHANG);
  if (ended == 0) return std::nullopt;
  if (ended < 0) throw LibraryError(fmt::format("waitpid failed: {}", std::strerror(errno)));
  return ChildExit{WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
}

ChildExit wait_for(pid_t child, pid_t receiver, const SignalQueue& queue) {
  Messenger messenger(receiver);
  if (const int signal = pending_signal(); signal != 0) messenger.pass_on(signal);
  for (;;) {
    if (const auto ended = look_at(child)) return *ended;
    const int signal = queue.wait();
    if (signal == SIGCHLD) continue;
    remember_signal(signal);
    messenger.pass_on(signal);
  }
}

/// A process group of its own: a terminal sends Ctrl-C to a whole group, so that the child would
/// get the signal twice, from the terminal and from here. A second one ends a program of ours and
/// MPI's launcher at once, before results are on disk.
class OwnGroup {
 public:
  explicit OwnGroup(const sigset_t& mask) {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setsigmask(&attributes_, &mask);
  }
  ~OwnGroup() { posix_spawnattr_destroy(&attributes_); }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// Standard output and errors of a child, in a file.
class OwnOutput {
 public:
  explicit OwnOutput(const std::filesystem::path& path) {
    posix_spawn_file_actions_init(&actions_);
    if (path.empty()) return;
    // Opened here first: what is wrong with the file would look like a fault of the program.
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
      const int reason = errno;
      posix_spawn_file_actions_destroy(&actions_);
      throw ConfigError(fmt::format("{} cannot be written ({}). Choose another folder.",
                                    path.string(), std::strerror(reason)));
    }
    close(file);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, path.c_str(), O_WRONLY | O_APPEND,
                                     0);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~OwnOutput() { posix_spawn_file_actions_destroy(&actions_); }
  OwnOutput(const OwnOutput&) = delete;
  OwnOutput& operator=(const OwnOutput&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

ChildExit run_child(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables) {
  ChildSettings settings;
  settings.variables = variables;
  return run_child(command, settings);
}

ChildExit run_child(const std::vector<std::string>& command, const ChildSettings& settings) {
  EXPECT(!command.empty());
  std::vector<std::string> words = command;
  std::vector<std::string> environment = merged_environment(settings.variables);
  const OwnOutput output(settings.output);
  const SignalQueue queue;
  const OwnGroup group(queue.mask_before());
  pid_t child = 0;
  const int error = posix_spawnp(&child, command.front().c_str(), output.get(), group.get(),
                                 pointers(words).data(), pointers(environment).data());
  if (error != 0) {
    throw ConfigError(fmt::format("{} cannot be started ({}). Install it or correct the path.",
                                  command.front(), std::strerror(error)));
  }
  const bool all = settings.signals == ChildSettings::Signals::to_group;
  return wait_for(child, all ? -child : child, queue);
}

ExitCode exit_code_of(const ChildExit& child) {
  const bool ours = child.code <= static_cast<int>(ExitCode::not_built) ||
                    child.code == static_cast<int>(ExitCode::interrupted) ||
                    child.code == static_cast<int>(ExitCode::terminated);
  return ours ? static_cast<ExitCode>(child.code) : ExitCode::wrong_result;
}

std::string describe(const ChildExit& child) {
  const int signal = child.code - 128;
  if (signal <= 0 || signal >= NSIG) return fmt::format("ended with exit code {}", child.code);
  return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
}

}  // namespace dlscale::app
