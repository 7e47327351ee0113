#include <fmt/format.h>
#include <unistd.h>

#include <random>
#include <sstream>
#include <system_error>

#include "core/error.hpp"
#include "core/shown_text.hpp"
#include "report/history/git_command.hpp"
#include "report/history/storage.hpp"

namespace dlscale::report::history {
namespace {

namespace fs = std::filesystem;

/// How often another writer may be first before we give up.
constexpr int most_tries = 50;
/// How many files are asked for at once: starting git costs more than reading a file.
constexpr std::size_t batch = 64;

/// An index of our own, so that nobody's work tree or staged changes are touched.
class TemporaryIndex {
 public:
  explicit TemporaryIndex(const fs::path& git_folder) {
    std::random_device random;
    path_ = git_folder / fmt::format("dlscale-index-{}-{:08x}", ::getpid(), random());
  }
  ~TemporaryIndex() {
    std::error_code unknown;
    fs::remove(path_, unknown);
    fs::remove(path_.string() + ".lock", unknown);
  }
  TemporaryIndex(const TemporaryIndex&) = delete;
  TemporaryIndex& operator=(const TemporaryIndex&) = delete;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> variables() const {
    return {{"GIT_INDEX_FILE", path_.string()}};
  }

 private:
  fs::path path_;
};

/// Each commit of the branch is one update. Objects that an update which failed has left behind
/// belong to nothing, and git removes them in time.
class GitStorage final : public Storage {
 public:
  GitStorage(std::string branch, const fs::path& repository)
      : branch_(std::move(branch)), git_(repository) {
    if (git_.run({"check-ref-format", "--branch", branch_}).status != 0) {
      throw ConfigError(fmt::format(
          "\"{}\" is no name for a branch. Write such as git:perf-history.", shown_text(branch_)));
    }
    git_folder_ = git_.expect({"rev-parse", "--absolute-git-dir"});
    refresh();
  }

  [[nodiscard]] std::string name() const override {
    return fmt::format("the history in branch {} of {}", branch_, git_.folder().string());
  }

  [[nodiscard]] std::vector<std::string> files(std::string_view below) override {
    std::vector<std::string> names;
    const std::string start = below.empty() ? "" : std::string(below) + "/";
    for (const auto& [file, object] : objects_) {
      if (file.starts_with(start)) names.push_back(file);
    }
    return names;
  }

  [[nodiscard]] std::optional<std::string> read_all(const std::string& name) override {
    const auto found = objects_.find(name);
    if (found == objects_.end()) return std::nullopt;
    if (!loaded_.contains(name)) load(found);
    std::string content = std::move(loaded_.at(name));
    loaded_.erase(name);
    return content;
  }

  void update(const std::function<Changes()>& plan, const std::string& message) override {
    refuse_checked_out();
    for (int i = 0; i < most_tries; ++i) {
      refresh();
      const Changes changes = plan();
      if (changes.empty() || commit(changes, message)) return refresh();
    }
    throw ConfigError(
        fmt::format("{} was changed by another writer {} times before this update "
                    "was through. Try again.",
                    name(), most_tries));
  }

 private:
  [[nodiscard]] std::string reference() const { return "refs/heads/" + branch_; }

  /// What the branch holds now.
  void refresh() {
    objects_.clear();
    loaded_.clear();
    const GitAnswer tip = git_.run({"rev-parse", "--verify", "--quiet", reference() + "^{commit}"});
    tip_ = tip.status == 0 ? tip.output.substr(0, tip.output.find('\n')) : "";
    if (tip_.empty()) return;
    std::istringstream entries(git_.expect({"ls-tree", "-r", "-z", tip_}));
    for (std::string entry; std::getline(entries, entry, '\0');) {
      // "100644 blob OBJECT<tab>NAME"
      const std::size_t tab = entry.find('\t');
      const std::size_t space = entry.rfind(' ', tab);
      if (tab == std::string::npos || space == std::string::npos) continue;
      objects_[entry.substr(tab + 1)] = entry.substr(space + 1, tab - space - 1);
    }
  }

  /// The file and those after it, which are mostly wanted next.
  void load(std::map<std::string, std::string>::const_iterator from) {
    loaded_.clear();
    std::vector<std::string> names;
    std::string wanted;
    for (; from != objects_.end() && names.size() < batch; ++from) {
      names.push_back(from->first);
      wanted += from->second + "\n";
    }
    const GitAnswer answer = git_.run({"cat-file", "--batch"}, wanted);
    std::string_view rest = answer.output;
    for (const std::string& file : names) {
      // "OBJECT blob SIZE\n", the content, "\n"
      const std::string_view head = rest.substr(0, rest.find('\n'));
      std::size_t size = 0;
      const std::size_t space = head.rfind(' ');
      if (head.find(" blob ") == std::string_view::npos) refuse_damaged(file);
      size = std::stoul(std::string(head.substr(space + 1)));
      rest.remove_prefix(head.size() + 1);
      if (rest.size() < size + 1) refuse_damaged(file);
      loaded_[file] = std::string(rest.substr(0, size));
      rest.remove_prefix(size + 1);
    }
  }

  [[noreturn]] void refuse_damaged(const std::string& file) const {
    throw ConfigError(
        fmt::format("{} of {} cannot be read from git, so the repository is damaged. "
                    "Run git fsck there.",
                    file, name()));
  }

  /// A work tree would show the change as if its own files had been removed.
  void refuse_checked_out() const {
    std::istringstream lines(git_.expect({"worktree", "list", "--porcelain"}));
    for (std::string line; std::getline(lines, line);) {
      if (line != "branch " + reference()) continue;
      throw ConfigError(
          fmt::format("branch {} of {} is checked out, and a history is written "
                      "without a work tree. Choose a branch for it alone.",
                      branch_, git_.folder().string()));
    }
  }

  [[nodiscard]] std::string content_now(const std::string& file) { return read(file).value_or(""); }

  /// False if another writer was first.
  [[nodiscard]] bool commit(const Changes& changes, const std::string& message) {
    std::map<std::string, std::string> contents = changes.whole;
    for (const auto& [file, content] : changes.created) {
      if (!objects_.contains(file)) contents[file] = content;
    }
    for (const auto& [file, lines] : changes.appended) {
      const auto [found, fresh] = contents.try_emplace(file);
      if (fresh) found->second = content_now(file);
      found->second += lines;
    }
    const TemporaryIndex index(git_folder_);
    if (!tip_.empty()) (void)git_.expect({"read-tree", tip_}, {}, index.variables());
    std::string entries;
    for (const auto& [file, content] : contents) {
      const std::string object = git_.expect({"hash-object", "-w", "--stdin"}, content);
      entries += fmt::format("100644 {}\t{}", object, file) + '\0';
    }
    (void)git_.expect({"update-index", "-z", "--index-info"}, entries, index.variables());
    const std::string tree = git_.expect({"write-tree"}, {}, index.variables());
    std::vector<std::string> words{"commit-tree", tree, "-m", message};
    if (!tip_.empty()) words.insert(words.end(), {"-p", tip_});
    return move_branch(committed(words));
  }

  /// In containers and accounts of services git may have no identity, and needs one.
  [[nodiscard]] std::string committed(const std::vector<std::string>& words) const {
    GitAnswer made = git_.run(words);
    if (made.status != 0) {
      return git_.expect(words, {},
                         {{"GIT_AUTHOR_NAME", "dlscale"},
                          {"GIT_AUTHOR_EMAIL", "dlscale@localhost"},
                          {"GIT_COMMITTER_NAME", "dlscale"},
                          {"GIT_COMMITTER_EMAIL", "dlscale@localhost"}});
    }
    return made.output.substr(0, made.output.find('\n'));
  }

  [[nodiscard]] bool move_branch(const std::string& made) const {
    // Of no tip, an empty word: that there must be no such reference yet, in a repository of any
    // object format.
    const GitAnswer moved = git_.run({"update-ref", reference(), made, tip_});
    if (moved.status == 0) return true;
    // Another writer moved it, or holds its lock just now; anything else will not mend itself.
    const bool other = moved.errors.find("but expected") != std::string::npos ||
                       moved.errors.find("reference already exists") != std::string::npos ||
                       moved.errors.find("File exists") != std::string::npos;
    if (other) return false;
    throw ConfigError(
        fmt::format("git cannot move branch {} of {} ({}), so nothing was added to "
                    "the history. Mend the repository, or name another with --store.",
                    branch_, git_.folder().string(), shown_text(moved.errors)));
  }

  std::string branch_;
  GitCommand git_;
  fs::path git_folder_;
  std::string tip_;                             ///< commit; empty: there is no such branch yet
  std::map<std::string, std::string> objects_;  ///< file → blob, of tip_
  std::map<std::string, std::string> loaded_;   ///< file → content, asked for and not yet read
};

}  // namespace

std::unique_ptr<Storage> open_git_storage(const std::string& branch,
                                          const std::filesystem::path& repository) {
  return std::make_unique<GitStorage>(branch, repository);
}

}  // namespace dlscale::report::history
