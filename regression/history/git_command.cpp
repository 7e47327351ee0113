#include "regression/history/git_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"

extern char** environ;

namespace dlscale::report::history {
namespace {

/// A nameless file in memory. Unlike pipes, two of them cannot deadlock.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("git", MFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw LibraryError(fmt::format("memfd_create failed: {}", std::strerror(errno)));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] std::string content() const {
    struct stat status = {};
    EXPECT(fstat(descriptor_, &status) == 0);
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t got = 0;
    while (got < text.size()) {
      const ssize_t count =
          pread(descriptor_, text.data() + got, text.size() - got, static_cast<off_t>(got));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw LibraryError(fmt::format("pread failed: {}", std::strerror(errno)));
      got += static_cast<std::size_t>(count);
    }
    return text;
  }

 private:
  int descriptor_;
};

class Redirections {
 public:
  Redirections(const MemoryFile& output, const MemoryFile& errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors.get(), STDERR_FILENO);
  }
  ~Redirections() { posix_spawn_file_actions_destroy(&actions_); }
  Redirections(const Redirections&) = delete;
  Redirections& operator=(const Redirections&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Our environment without the repository variables that a git hook sets. Git does not prompt, and
/// it speaks English.
std::vector<std::string> environment_for_git() {
  constexpr std::array replaced{"GIT_DIR=",    "GIT_INDEX_FILE=",      "GIT_WORK_TREE=",
                                "GIT_PREFIX=", "GIT_TERMINAL_PROMPT=", "LC_ALL="};
  std::vector<std::string> lines{"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const auto begins = [line](const char* name) { return line.starts_with(name); };
    if (std::ranges::none_of(replaced, begins)) lines.emplace_back(line);
  }
  return lines;
}

int wait_for_end(pid_t process) {
  int state = 0;
  while (waitpid(process, &state, 0) < 0) {
    if (errno != EINTR) throw LibraryError(fmt::format("waitpid: {}", std::strerror(errno)));
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace

GitCommand::GitCommand(std::filesystem::path folder) : folder_(std::move(folder)) {
  const GitAnswer found = run({"rev-parse", "--git-dir"});
  if (found.status == 0) return;
  throw ConfigError(
      fmt::format("{} is not in a git repository that can be used ({}). Name one with "
                  "--repository.",
                  folder_.string(), shown_text(found.errors)));
}

GitAnswer GitCommand::run(const std::vector<std::string>& words) const {
  std::vector<std::string> command{"git", "-C", folder_.string()};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::string> environment = environment_for_git();
  const MemoryFile out;
  const MemoryFile err;
  const Redirections redirections(out, err);
  pid_t process = 0;
  const int error = posix_spawnp(&process, "git", redirections.get(), nullptr,
                                 pointers_to(command).data(), pointers_to(environment).data());
  if (error != 0) {
    throw ConfigError(
        fmt::format("git cannot be started ({}). Install git.", std::strerror(error)));
  }
  GitAnswer answer;
  answer.status = wait_for_end(process);
  answer.output = out.content();
  answer.errors = err.content();
  while (answer.errors.ends_with('\n')) answer.errors.pop_back();
  return answer;
}

std::string GitCommand::expect(const std::vector<std::string>& words) const {
  GitAnswer answer = run(words);
  if (answer.status != 0) {
    throw ConfigError(
        fmt::format("git {} failed in {} ({}). Repair the repository, or name another with "
                    "--repository.",
                    words.front(), folder_.string(), shown_text(answer.errors)));
  }
  if (answer.output.ends_with('\n')) answer.output.pop_back();
  return answer.output;
}

}  // namespace dlscale::report::history
