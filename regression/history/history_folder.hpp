#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlscale::report::history {

/// What one update adds. Lines that a history holds are never changed.
struct Changes {
  std::map<std::string, std::string> created;  ///< file → content; one that exists stays as it is
  std::map<std::string, std::string> whole;    ///< file → content, in place of what is there
  /// File → whole lines to add at its end, in the order in which they reach the disk.
  std::vector<std::pair<std::string, std::string>> appended;
  [[nodiscard]] bool empty() const { return created.empty() && whole.empty() && appended.empty(); }
};

/// The folder that holds the files of a history. It may be a work tree of a git branch.
/// Names of files are relative, with slashes; hidden files and folders (".git") are not part of the
/// history. Files of lines end with a whole line: the rest is from a writer that was killed or that
/// writes now. read() drops it, and the next update cuts it off.
class HistoryFolder {
 public:
  /// The folder need not exist yet. Throws ConfigError if it is something else than a folder.
  explicit HistoryFolder(std::filesystem::path folder);

  /// For messages: "the history in perf/history".
  [[nodiscard]] std::string name() const;
  /// All files below a folder ("series"), sorted.
  [[nodiscard]] std::vector<std::string> files(std::string_view below) const;
  /// The content as it is; nothing if there is no such file.
  [[nodiscard]] std::optional<std::string> read_all(const std::string& file) const;
  /// The content as far as it has whole lines.
  [[nodiscard]] std::optional<std::string> read(const std::string& file) const;
  /// Calls `plan` while no other process updates, and adds what it returns: all of it or, if that
  /// fails, nothing. A process that is killed in the middle leaves a part, from the first of
  /// `created`, `whole` and `appended` on: what makes the rest count goes last.
  /// Throws ConfigError: a full disk, a place that cannot be written, a file system without locks.
  void update(const std::function<Changes()>& plan) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace dlscale::report::history
