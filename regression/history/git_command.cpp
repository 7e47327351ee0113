#include "regression/history/git_command.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale::regression::history {
namespace {

/// Git does not prompt, it speaks English, and it ignores the repository variables that a hook
/// sets.
ProgramEnvironment git_environment(GitCommand::MissingObjects missing) {
  ProgramEnvironment environment{
      .variables = {{"GIT_TERMINAL_PROMPT", "0"}, {"LC_ALL", "C"}},
      .removed = {"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"}};
  if (missing == GitCommand::MissingObjects::are_errors) {
    environment.variables["GIT_NO_LAZY_FETCH"] = "1";      // since git 2.45
    environment.variables["GIT_ALLOW_PROTOCOL"] = "none";  // no transport has that name
  }
  return environment;
}

}  // namespace

std::vector<std::string> git_in(const std::filesystem::path& folder) {
  return {"git",
          "-c",
          "core.fsmonitor=false",
          "-c",
          "core.hooksPath=/dev/null",
          "-c",
          "log.showSignature=false",
          "-C",
          folder.string()};
}

GitCommand::GitCommand(std::filesystem::path folder, MissingObjects missing)
    : folder_(std::move(folder)), missing_(missing) {
  const ProgramOutput found = run({"rev-parse", "--git-dir"});
  if (found.code == 0) return;
  throw ConfigError(
      fmt::format("{} is not in a git repository that can be used ({}). Name another "
                  "repository.",
                  folder_.string(), escape_for_terminal(found.errors)));
}

ProgramOutput GitCommand::run(const std::vector<std::string>& words) const {
  std::vector<std::string> command = git_in(folder_);
  command.insert(command.end(), words.begin(), words.end());
  ProgramOutput answer = run_program(command, git_environment(missing_));
  if (answer.code == ProgramOutput::not_started) {
    throw ConfigError(fmt::format("git cannot be started ({}). Install git.", answer.errors));
  }
  while (answer.errors.ends_with('\n')) answer.errors.pop_back();
  return answer;
}

std::string GitCommand::expect(const std::vector<std::string>& words) const {
  ProgramOutput answer = run(words);
  if (answer.code != 0) {
    throw ConfigError(
        fmt::format("git {} failed in {} ({}). Repair the repository, or name "
                    "another one.",
                    words.front(), folder_.string(), escape_for_terminal(answer.errors)));
  }
  if (answer.text.ends_with('\n')) answer.text.pop_back();
  return answer.text;
}

}  // namespace dlscale::regression::history
