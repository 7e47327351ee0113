#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::report::history {

/// How a git command ended.
struct GitAnswer {
  int status = 0;
  std::string output;  ///< standard output, byte by byte
  std::string errors;  ///< standard error, in one line
};

/// git in a repository, without a shell, a terminal or questions.
class GitCommand {
 public:
  /// Throws ConfigError if git is missing, or `folder` is in no repository.
  explicit GitCommand(std::filesystem::path folder);
  /// `git -C FOLDER WORDS…`, with nothing to read.
  [[nodiscard]] GitAnswer run(const std::vector<std::string>& words) const;
  /// The output of a command that has to succeed, without the last line break. Throws ConfigError.
  [[nodiscard]] std::string expect(const std::vector<std::string>& words) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace dlscale::report::history
