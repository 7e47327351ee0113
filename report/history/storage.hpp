#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlscale::report::history {

/// What one update adds. Nothing that a store holds is ever changed, but for a file that lost what
/// it held.
struct Changes {
  std::map<std::string, std::string> created;  ///< file → content; one that is there stays as it is
  std::map<std::string, std::string> whole;    ///< file → content, in place of what is there
  /// File → whole lines to add at its end, in the order in which they reach the disk.
  std::vector<std::pair<std::string, std::string>> appended;
  [[nodiscard]] bool empty() const { return created.empty() && whole.empty() && appended.empty(); }
};

/// Where the files of a history lie: a folder, or a branch of a git repository that no work tree
/// shows. Names of files are relative, with slashes. Files end with whole lines: what stands after
/// the last line break is what a killed writer left, or what one writes now; read() drops it, and
/// the next update cuts it off.
class Storage {
 public:
  virtual ~Storage() = default;
  /// For messages: "the history in perf/history".
  [[nodiscard]] virtual std::string name() const = 0;
  /// All files below a folder ("series"), sorted.
  [[nodiscard]] virtual std::vector<std::string> files(std::string_view folder) = 0;
  /// The content as it is; nothing where there is no such file.
  [[nodiscard]] virtual std::optional<std::string> read_all(const std::string& file) = 0;
  /// As far as it has whole lines.
  [[nodiscard]] std::optional<std::string> read(const std::string& file) {
    std::optional<std::string> content = read_all(file);
    if (content) content->resize(content->rfind('\n') + 1);  // npos + 1 is 0
    return content;
  }
  /// Calls `plan` while no other process updates, or again where one did meanwhile, and adds what
  /// it returns: all of it, or, where that fails, nothing. A process that is killed in the middle
  /// leaves some of it, from the first of `created`, `whole` and `appended` on: what counts goes
  /// last.
  /// Throws ConfigError: a full disk, a place that cannot be written, a lock that file systems
  /// lack.
  virtual void update(const std::function<Changes()>& plan, const std::string& message) = 0;
};

/// "git:BRANCH" is a branch of the repository around the current folder, "git:BRANCH@FOLDER" of
/// that around another; any other text is a folder, which need not exist yet.
/// Throws ConfigError where git or a repository is missing, or the branch's name is none.
std::unique_ptr<Storage> open_storage(const std::string& place);

std::unique_ptr<Storage> open_folder_storage(const std::filesystem::path& folder);
std::unique_ptr<Storage> open_git_storage(const std::string& branch,
                                          const std::filesystem::path& repository);

}  // namespace dlscale::report::history
