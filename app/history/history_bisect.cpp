// dlscale history bisect: finds the commit in an alert's range by git bisect and the gate.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/gate/gate_session.hpp"
#include "app/history/history_options.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/system/process.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/system/this_command_line.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/shell_words.hpp"
#include "regression/check/check.hpp"
#include "regression/history/git_command.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
namespace history = regression::history;

struct BisectOptions {
  HistoryOptions history;
  HistoryRules rules;
  std::string commit;
  std::string repository = ".";
  bool execute = false;
  std::vector<std::string> command;  ///< the command after "--"
};

/// The metric with the largest change among those that fail the alert, or else among all.
const history::AlertMetric& worst(const history::Alert& alert) {
  const auto badness = [](const history::AlertMetric& metric) {
    const double change = std::max(metric.ratio, 1 / metric.ratio);
    const bool counts = metric.movement != regression::Verdict::improved && !metric.key.is_detail();
    return counts ? change : -1 / change;
  };
  return *std::ranges::max_element(alert.metrics, {}, badness);
}

/// Throws ConfigError for a run of several ranks. The recorded command lacks the launcher, so it
/// would measure one rank, which is another case or is refused.
void expect_one_rank(const history::SeriesKey& key) {
  const auto ranks = key.launch.find("ranks");
  if (ranks == key.launch.end() || ranks->second == "1") return;
  throw ConfigError(fmt::format(
      "{} was measured on {} ranks, and its run recorded the command of one of them without the "
      "launcher, so that it would measure one rank alone. Write what launches them after --, such "
      "as -- run SUITE with a suite of so many ranks.",
      escape_for_terminal(key.name()), escape_for_terminal(ranks->second)));
}

/// The command that measured the new level, as the run recorded it.
std::vector<std::string> recorded_command(history::Store& store, const history::Alert& alert) {
  const history::AlertMetric& metric = worst(alert);
  expect_one_rank(metric.key);
  const std::string& run = metric.run_after;
  for (const history::RunRecord& record : store.runs()) {
    if (record.id() != run) continue;
    const auto found = record.facts.find("command");
    if (found == record.facts.end()) break;
    const auto json = nlohmann::json::parse(found->second, nullptr, false);
    if (!json.is_array() || json.size() < 2) break;
    const auto words = json.get<std::vector<std::string>>();
    return {words.begin() + 1, words.end()};
  }
  throw ConfigError(
      fmt::format("the run {} does not say by which command of dlscale it was "
                  "measured. Write one after --, such as -- bench conv --batch 8.",
                  run));
}

void expect_commit(const history::GitCommand& git, const std::string& commit) {
  const bool dirty = commit.ends_with("-dirty");
  if (!dirty && git.run({"cat-file", "-e", commit + "^{commit}"}).code == 0) return;
  throw ConfigError(fmt::format(
      "{} {}, so git cannot bisect from or to it. {}", escape_for_terminal(commit),
      dirty ? "was measured with local changes" : "is not a commit of " + git.folder().string(),
      dirty ? "Measure commits." : "Name their repository with --repository."));
}

/// The script that git bisect runs for each commit: 0 good, 1 bad, 125 skip; a failure of the gate
/// itself ends the bisection. `record` is a command that stores the gate's exit code, $code.
std::string step(const std::string& base, const std::vector<std::string>& command, double margin,
                 std::string_view record) {
  const std::vector<std::string> words = this_command_line();
  const std::string program = words.empty() ? "dlscale" : words.front();
  const std::string here = program.find('/') == std::string::npos
                               ? program
                               : fs::absolute(program).lexically_normal().string();
  return fmt::format(
      "{} gate --base-commit {} --new-commit \"$(git rev-parse HEAD)\" --margin {} -- {}; "
      "code=$?; {}case $code in 0) exit 0;; 1) exit 1;; 3) exit 125;; *) exit 128;; esac",
      shell_word(here), shell_word(base), margin, shell_line(command), record);
}

/// Stores the code, since git reports all failures alike. The file is in git's folder, so the
/// commit's files stay unchanged.
constexpr const char* record_code =
    "echo $code >\"$(git rev-parse --absolute-git-dir)/dlscale-gate\"; ";

/// The exit of the last gate of a bisection; nothing if none ended.
std::optional<ChildExit> last_gate(const history::GitCommand& git) {
  std::ifstream file(fs::path(git.expect({"rev-parse", "--absolute-git-dir"})) / "dlscale-gate");
  ChildExit ended;
  if (file >> ended.code) return ended;
  return std::nullopt;
}

/// Whether the gate answered for a commit; 3 (inconclusive) is also an answer.
bool has_answered(const ChildExit& gate) {
  const ExitCode code = exit_code_of(gate);
  return code == ExitCode::ok || code == ExitCode::regression || code == ExitCode::inconclusive;
}

/// A separate work tree, so that the user's files stay in place.
class TemporaryWorkTree {
 public:
  TemporaryWorkTree(const history::GitCommand& git, const std::string& commit) : git_(git) {
    std::random_device random;
    path_ = temporary_folder() / fmt::format("dlscale-bisect-{}-{:08x}", ::getpid(), random());
    (void)git_.expect({"worktree", "add", "--detach", path_.string(), commit});
  }
  ~TemporaryWorkTree() {
    try {
      (void)git_.run({"worktree", "remove", "--force", path_.string()});
    } catch (const Error&) {  // git existed when the tree was made
    }
  }
  TemporaryWorkTree(const TemporaryWorkTree&) = delete;
  TemporaryWorkTree& operator=(const TemporaryWorkTree&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  const history::GitCommand& git_;
  fs::path path_;
};

std::string without_break(const std::string& line) {
  return line.substr(0, line.find('\n'));
}

/// A range of one commit needs no bisection, and its build may not be possible here.
ExitCode answer_alone(const history::GitCommand& git, const history::Alert& alert) {
  fmt::print(stderr, "dlscale: the range has this commit alone, so nothing was measured\n");
  write_output("-", git.expect({"rev-parse", alert.latest + "^{commit}"}) + "\n");
  return ExitCode::regression;
}

ExitCode execute(const history::GitCommand& git, const history::Alert& alert,
                 const std::string& script) {
  const TemporaryWorkTree tree(git, alert.latest);
  const history::GitCommand there(tree.path(), history::GitCommand::MissingObjects::are_fetched);
  (void)there.expect({"bisect", "start", alert.latest, alert.before});
  ChildOptions options;
  options.time_to_heed_s *= 2;  // the gate gives its own children the same time
  // Output of git and the gate is progress; the answer is only the commit.
  const ChildExit ended = run_child(
      {"sh", "-c", "exec git -C \"$0\" bisect run sh -c \"$1\" >&2", tree.path().string(), script},
      {}, options);
  const std::optional<ChildExit> gate = last_gate(there);
  const ProgramOutput stopped = there.run({"rev-parse", "--short", "HEAD"});
  const ProgramOutput bad = there.run({"rev-parse", "--verify", "--quiet", "refs/bisect/bad"});
  const ProgramOutput rest =
      there.run({"rev-list", "--count", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*"});
  (void)there.run({"bisect", "reset"});
  if (ended.code > 128) return exit_code_of(ended);
  if (ended.code != 0 && gate && !has_answered(*gate)) {
    fmt::print(stderr,
               "dlscale: the gate of {} {}, for the reason that it gives above, so the bisection "
               "ended there. Mend it, or leave the commit out: git bisect skip.\n",
               without_break(stopped.text), describe(*gate));
    return exit_code_of(*gate);
  }
  if (bad.code != 0 || rest.text != "1\n") {
    fmt::print(stderr, "dlscale: the gate could not tell all commits apart (git bisect {})\n",
               describe(ended));
    return ExitCode::inconclusive;
  }
  write_output("-", fmt::format("{}", bad.text));
  return ExitCode::regression;
}

ExitCode bisect(const BisectOptions& options) {
  history::Store store = options.history.open();
  const history::CheckRules rules = options.rules.chosen();
  const history::CheckReport report = history::check(store, options.history.wanted(), rules);
  const history::Alert& alert = history::find_alert(report, options.commit);
  const history::AlertMetric& moved = worst(alert);
  if (moved.movement == regression::Verdict::improved) {
    throw ConfigError(fmt::format(
        "nothing became slower with {}, and the gate tells git which commits are "
        "slower. Name an alert of a regression, or compare two commits by dlscale gate.",
        escape_for_terminal(alert.commit)));
  }
  const history::GitCommand git(options.repository,
                                options.execute ? history::GitCommand::MissingObjects::are_fetched
                                                : history::GitCommand::MissingObjects::are_errors);
  expect_commit(git, alert.before);
  expect_commit(git, alert.latest);
  const std::string commits =
      git.expect({"rev-list", "--count", alert.before + ".." + alert.latest});
  if (options.execute && commits == "1") return answer_alone(git, alert);
  // The gate sets the output file itself.
  const std::vector<std::string> command =
      without_output(options.command.empty() ? recorded_command(store, alert) : options.command);
  // The margin lies between the two levels, so a commit with another, smaller change counts as old.
  const double change = std::max(moved.ratio, 1 / moved.ratio) - 1;
  const char* record = options.execute ? record_code : "";
  const std::string script = step(alert.before, command, change / 2, record);
  if (options.execute) return execute(git, alert, script);
  write_output("-",
               fmt::format("# {} commits, {} at the newest level\ngit bisect start {} {}\n"
                           "git bisect run sh -c {}\ngit bisect reset\n",
                           commits, escape_for_terminal(alert.latest), shell_word(alert.latest),
                           shell_word(alert.before), shell_word(script)));
  return ExitCode::ok;
}

}  // namespace

void declare_history_bisect(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand(
      "bisect", "Find the commit of an alert's range by git bisect and the gate");
  auto options = std::make_shared<BisectOptions>();
  options->history.declare_store(*command);
  options->history.declare_selection(*command);
  options->rules.declare(*command);
  command->add_option("commit", options->commit, "The alert, or the beginning of its commit")
      ->required();
  command->add_option("--repository", options->repository, "Git repository of the commits")
      ->type_name("FOLDER")
      ->capture_default_str();
  command->add_flag("--execute", options->execute,
                    "Bisect in a work tree made for it, and print the commit; without, print the "
                    "commands");
  command->add_option("command", options->command,
                      "What to measure, after --, such as -- bench conv --batch 8 (default: as the "
                      "run at the new level was measured)");
  command->footer(
      "Example: dlscale history bisect 1a2b3c4 --execute -- bench conv --network resnet50\nExit "
      "code of --execute: 1: found, 3: the gate could not tell, 4: a build failed.");
  command->callback([options, &result] { result = bisect(*options); });
}

}  // namespace dlscale::app
