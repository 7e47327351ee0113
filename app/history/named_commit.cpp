#include "app/history/named_commit.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/time_text.hpp"
#include "regression/history/commit_name.hpp"
#include "regression/history/git_command.hpp"

namespace dlscale::app {
namespace {

namespace history = regression::history;
using history::ImportedRun;
using history::RunRecord;

bool is_shallow(const history::GitCommand& git) {
  return git.expect({"rev-parse", "--is-shallow-repository"}) != "false";
}

[[noreturn]] void refuse_unknown(const history::GitCommand& git, const NamedCommit& named) {
  throw ConfigError(fmt::format(
      "{} is not a commit of {}{}", escape_for_terminal(named.commit), named.repository,
      is_shallow(git) ? ", a shallow clone, which lacks earlier commits. Fetch them: git fetch "
                        "--unshallow."
                      : ". See git log there."));
}

/// Refuses a name that a branch and a tag have, for different commits: git would take the tag.
void expect_one_meaning(const history::GitCommand& git, const NamedCommit& named) {
  const auto commit_of = [&](std::string_view kind) {
    const std::string name = fmt::format("refs/{}/{}^{{commit}}", kind, named.commit);
    const ProgramOutput found = git.run({"rev-parse", "--verify", "--quiet", name});
    return found.code == 0 ? found.text : std::string();
  };
  const std::string branch = commit_of("heads");
  const std::string tag = commit_of("tags");
  if (branch.empty() || tag.empty() || branch == tag) return;
  throw ConfigError(fmt::format(
      "{} is a branch and a tag of {}, of different commits. Write heads/{} or tags/{}.",
      escape_for_terminal(named.commit), named.repository, escape_for_terminal(named.commit),
      escape_for_terminal(named.commit)));
}

/// The commits of the history that come before and after one, by their number of ancestors.
struct Neighbours {
  const RunRecord* before = nullptr;
  const RunRecord* after = nullptr;
};

Neighbours neighbours_of(const std::string& commit, std::uint64_t ancestors,
                         std::span<const RunRecord> there) {
  Neighbours found;
  for (const RunRecord& record : there) {
    if (record.ancestors == 0 || record.commit == commit) continue;
    const bool is_after = record.ancestors > ancestors;
    const RunRecord*& nearest = is_after ? found.after : found.before;
    const bool is_nearer = nearest == nullptr || (is_after ? record.ancestors < nearest->ancestors
                                                           : record.ancestors > nearest->ancestors);
    if (is_nearer) nearest = &record;
  }
  return found;
}

/// Whether git says that one commit does not come from another; false if it does not know them.
bool is_no_ancestor(const history::GitCommand& git, const std::string& first,
                    const std::string& second) {
  return git.run({"merge-base", "--is-ancestor", first, second}).code == 1;
}

/// The records of a commit in the history.
struct Known {
  const RunRecord* first = nullptr;
  const RunRecord* renamed = nullptr;  ///< the first one under another name than `first`
  std::int64_t earliest = 0;
};

/// Compares one commit with those of the history.
class Comparison {
 public:
  Comparison(const NamedCommit& named, std::span<const RunRecord> there,
             const history::CommitNames& names, std::vector<std::string>& notes)
      : named_(named), there_(there), names_(names), notes_(notes) {
    for (const RunRecord& record : there) {
      Known& known = known_[names_.whole(record.commit)];
      const bool is_first = known.first == nullptr;
      known.earliest = is_first ? record.time : std::min(known.earliest, record.time);
      if (is_first) known.first = &record;
      if (known.renamed == nullptr && record.commit != known.first->commit) known.renamed = &record;
    }
  }

  void look_at(const ImportedRun& run) {
    if (!seen_.insert(run.commit).second) return;
    compare_names(run.commit);
    if (!named_.time.empty()) compare_times(run);
    if (!named_.repository.empty() && !run.points.empty()) {
      compare_branches(run.commit, run.points.front().point.ancestors);
    }
  }

 private:
  [[nodiscard]] const Known* known(const std::string& commit) const {
    const auto found = known_.find(names_.whole(commit));
    return found == known_.end() ? nullptr : &found->second;
  }
  void compare_names(const std::string& commit) {
    if (std::ranges::binary_search(names_.ambiguous(), commit)) {
      throw ConfigError(fmt::format(
          "{} is the beginning of several commits' names in the history. Write more of the name.",
          commit));
    }
    const Known* const there = known(commit);
    if (there == nullptr) return;
    const RunRecord* const other = there->first->commit == commit ? there->renamed : there->first;
    if (other == nullptr) return;
    notes_.push_back(fmt::format("{} counts as commit {}, which the history has",
                                 escape_for_terminal(commit), escape_for_terminal(other->commit)));
  }
  void compare_times(const ImportedRun& run) {
    const Known* const there = known(run.commit);
    if (there == nullptr || there->earliest == run.time) return;
    notes_.push_back(fmt::format(
        "--time is {}, and the history has commit {} at {}: a commit has one place, which is "
        "that of the earliest time",
        time_text(run.time), escape_for_terminal(run.commit), time_text(there->earliest)));
  }
  void compare_branches(const std::string& commit, std::uint64_t ancestors) {
    if (ancestors == 0) return;
    const history::GitCommand git(named_.repository);
    const Neighbours near = neighbours_of(commit, ancestors, there_);
    const RunRecord* other = nullptr;
    if (near.before != nullptr && is_no_ancestor(git, near.before->commit, commit)) {
      other = near.before;
    } else if (near.after != nullptr && is_no_ancestor(git, commit, near.after->commit)) {
      other = near.after;
    }
    if (other == nullptr) return;
    notes_.push_back(fmt::format(
        "neither of the commits {} and {} of the history comes from the other, so they are of "
        "different branches: the number of their ancestors orders them, then their time",
        commit, escape_for_terminal(other->commit)));
  }

  const NamedCommit& named_;
  std::span<const RunRecord> there_;
  const history::CommitNames& names_;
  std::vector<std::string>& notes_;
  std::map<std::string, Known> known_;  ///< by whole name
  std::set<std::string> seen_;
};

}  // namespace

void NamedCommit::declare(CLI::App& command) {
  command.add_option("--commit", commit, "Commit that was measured (default: as the file says)");
  command.add_option("--time", time,
                     "When that commit was made, such as 2026-01-31T12:00:00Z (default: when it "
                     "was measured)");
  command
      .add_option("--repository", repository,
                  "Git repository to look --commit up in, for its full name and its time")
      ->type_name("FOLDER");
}

history::RunOptions NamedCommit::look_up(std::vector<std::string>& notes) const {
  history::RunOptions run;
  if (!time.empty()) {
    run.time = parse_time(time, "--time");
    history::expect_past(*run.time, "--time", "Write when the commit was made.");
  }
  if (repository.empty()) {
    if (!commit.empty()) run.commit = history::parse_commit_name(commit, "--commit");
    return run;
  }
  if (commit.empty()) {
    throw ConfigError("--repository looks up a commit, and none is named. Name it with --commit.");
  }
  const history::GitCommand git(repository);
  expect_one_meaning(git, *this);
  const ProgramOutput found =
      git.run({"log", "-1", "--format=%H %ct", "--end-of-options", commit, "--"});
  const std::size_t space = found.text.find(' ');
  if (found.code != 0 || space == std::string::npos) refuse_unknown(git, *this);
  run.commit = found.text.substr(0, space);
  if (!run.time) {
    run.time = std::stoll(found.text.substr(space + 1));
    history::expect_past(*run.time, "the date of commit " + run.commit,
                         "Give the right time with --time.");
  }
  if (is_shallow(git)) {
    notes.push_back(fmt::format(
        "{} is a shallow clone, so the ancestry of {} is unknown and times order it. Fetch the "
        "rest for its ancestry: git fetch --unshallow",
        repository, run.commit));
  } else {
    run.ancestors = std::stoull(git.expect({"rev-list", "--count", run.commit}));
  }
  return run;
}

std::vector<std::string> NamedCommit::compare(std::span<const RunRecord> there,
                                              std::span<const ImportedRun> runs) const {
  std::vector<std::string> all;
  for (const RunRecord& record : there) all.push_back(record.commit);
  for (const ImportedRun& run : runs) all.push_back(run.commit);
  const history::CommitNames names(std::move(all));
  std::vector<std::string> notes;
  Comparison comparison(*this, there, names, notes);
  for (const ImportedRun& run : runs) comparison.look_at(run);
  return notes;
}

}  // namespace dlscale::app
