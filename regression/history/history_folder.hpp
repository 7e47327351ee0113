#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlscale::regression::history {

/// Changes that one update makes. Existing lines of a history are never changed.
struct Changes {
  std::map<std::string, std::string> created;  ///< file → content; an existing file stays as it is
  /// File → content that replaces the present one. The caller of update() keeps the texts.
  std::map<std::string, std::string_view> whole;
  /// File → whole lines to append. They reach the disk together, after the above.
  std::vector<std::pair<std::string, std::string>> appended;
  /// Likewise, once all others are on the disk; or an empty name.
  std::pair<std::string, std::string> last;
};

/// The folder that holds the files of a history; it may be a work tree of a git branch. File names
/// are relative, with slashes. Hidden files and folders (".git") are not part of the history. A
/// file of lines may end in a partial line, from a writer that was killed or is still writing.
/// read() drops that line, and the next update cuts it off.
class HistoryFolder {
 public:
  /// The folder need not exist yet. Throws ConfigError if the path is not a folder.
  explicit HistoryFolder(std::filesystem::path folder);

  /// For messages: "the history in perf/history".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::filesystem::path path(const std::string& file) const { return folder_ / file; }
  /// All files below a folder ("series"), sorted.
  [[nodiscard]] std::vector<std::string> files(std::string_view below) const;
  /// The unmodified content; empty if the file does not exist.
  [[nodiscard]] std::optional<std::string> read_all(const std::string& file) const;
  /// The content up to its last whole line.
  [[nodiscard]] std::optional<std::string> read(const std::string& file) const;
  /// Calls `plan` under the lock of the history and adds what it returns: everything or, on
  /// failure, nothing. A killed process leaves a part, in the order of the members of Changes; so
  /// the lines that make the others count go last. Throws ConfigError for a full disk, a place that
  /// cannot be written, or a file system without locks.
  void update(const std::function<Changes()>& plan) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace dlscale::regression::history
