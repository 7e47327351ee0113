#include "report/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/error.hpp"

extern char** environ;

namespace dlscale::report {
namespace {

/// Both ends of a pipe, closed when done.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw LibraryError(fmt::format("pipe2 failed: {}", std::strerror(errno)));
    }
  }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  /// Everything that is written until no writer is left.
  [[nodiscard]] std::string read_all() const {
    std::string all;
    std::array<char, 4096> buffer{};
    for (;;) {
      const ssize_t count = read(ends_[0], buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Standard output and error of a process to be made, into a pipe.
class Redirection {
 public:
  explicit Redirection(int target) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, target, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, target, STDERR_FILENO);
  }
  ~Redirection() { posix_spawn_file_actions_destroy(&actions_); }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

int wait_for(pid_t process) {
  int state = 0;
  while (waitpid(process, &state, 0) < 0) {
    if (errno != EINTR) throw LibraryError(fmt::format("waitpid: {}", std::strerror(errno)));
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace

Finished run_process(const std::vector<std::string>& arguments) {
  EXPECT(!arguments.empty());
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv;
  argv.reserve(copies.size() + 1);
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  Pipe output;
  const Redirection redirection(output.writer());
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, argv.front(), redirection.actions(), nullptr, argv.data(), environ);
  if (error == ENOENT) return {127, fmt::format("{} was not found", arguments.front())};
  if (error != 0) {
    throw LibraryError(
        fmt::format("posix_spawnp of {} failed: {}", arguments.front(), std::strerror(error)));
  }
  output.close_writer();
  std::string text = output.read_all();
  return {wait_for(process), std::move(text)};
}

}  // namespace dlscale::report
