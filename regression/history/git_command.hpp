#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/system/process.hpp"

namespace dlscale::regression::history {

/// The words that start git in a repository, which a stranger may have written: git runs none of
/// the programs that its configuration names (hooks, a file monitor, a check of
/// signatures). It may still fetch objects that a partial clone lacks.
std::vector<std::string> git_in(const std::filesystem::path& folder);

/// Runs git in a repository, without a shell, a terminal or prompts.
class GitCommand {
 public:
  /// Whether git fetches the objects that a partial clone lacks. That runs the programs which the
  /// configuration names for it (remote.*.uploadpack, core.sshCommand), so only those who build the
  /// repository's code may ask for it.
  enum class MissingObjects { are_errors, are_fetched };
  /// Throws ConfigError if git is missing, or if `folder` is not in a repository.
  explicit GitCommand(std::filesystem::path folder,
                      MissingObjects missing = MissingObjects::are_errors);
  /// Runs `git -C FOLDER WORDS…` without input; `errors` ends without line breaks. Throws
  /// ConfigError if git is missing.
  [[nodiscard]] ProgramOutput run(const std::vector<std::string>& words) const;
  /// Output of a command that has to succeed, without the last line break. Throws ConfigError if it
  /// fails.
  [[nodiscard]] std::string expect(const std::vector<std::string>& words) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  MissingObjects missing_;
};

}  // namespace dlscale::regression::history
