#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::regression::history {

/// Whether a text can be the whole or the abbreviated name of a commit: 7 to 40 or 64 hexadecimal
/// digits, not all 0.
bool is_commit_name(std::string_view text);

/// The name of a commit as a person wrote it, in lower case. Throws ConfigError, which begins with
/// `option` and says which commit is meant or how to find it, for names that move (branches), for
/// words of `git describe`, and for commits with local changes.
std::string parse_commit_name(std::string_view word, std::string_view option);

/// Whether a person who writes `word` may mean this commit: it is the beginning of its name, in
/// small letters or capitals, or a longer name of it.
bool may_mean(std::string_view word, std::string_view commit);

/// The names of a history that are one commit: capitals are small letters, and a name that is the
/// beginning of one longer name is that one.
class CommitNames {
 public:
  explicit CommitNames(std::vector<std::string> names);
  /// The longest name of the same commit, which may be itself.
  [[nodiscard]] std::string whole(const std::string& name) const;
  /// Names that are the beginning of several commits' names, and so remain as they are.
  [[nodiscard]] const std::vector<std::string>& ambiguous() const { return ambiguous_; }
  /// Whether all names are whole already.
  [[nodiscard]] bool are_whole() const { return whole_.empty(); }

 private:
  std::map<std::string, std::string> whole_;  ///< only names that change
  std::vector<std::string> ambiguous_;
};

}  // namespace dlscale::regression::history
