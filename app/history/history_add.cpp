// dlscale history add: adds results of dlscale and of other programs to a history.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "app/history/history_options.hpp"
#include "core/base/error.hpp"
#include "core/results/result_paths.hpp"
#include "core/system/output.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/time_text.hpp"
#include "regression/history/git_command.hpp"
#include "regression/history/run.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
namespace history = regression::history;

struct AddOptions {
  HistoryOptions history;
  std::vector<std::string> files;
  std::string commit;
  std::string time;
  std::string run;
  std::string repository;
  std::vector<std::string> axes;
  std::vector<std::string> machine;
  std::vector<std::string> environment;
  std::vector<std::string> launch;
  bool strict = false;
};

history::Facts facts_of(const std::vector<std::string>& words, const char* option) {
  history::Facts facts;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError(fmt::format("{} {} is not a fact. Write {} NAME=VALUE.", option,
                                    escape_for_terminal(word), option));
    }
    facts[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return facts;
}

/// Whether a word can only be a name that moves from commit to commit.
bool is_moving_name(const std::string& word) {
  constexpr std::array names{"HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "@",
                             "main", "master",     "trunk",     "develop"};
  return std::ranges::find(names, word) != names.end() || word.starts_with("refs/") ||
         word.starts_with("origin/") || word.find_first_of("~^:") != std::string::npos ||
         word.find("@{") != std::string::npos;
}

/// The commit that a repository in the working folder knows by another name, such as a branch or a
/// tag; empty if it knows none.
std::string named_here(const std::string& word) {
  if (word.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) return "";
  try {
    const ProgramOutput found = history::GitCommand(".").run(
        {"rev-parse", "--verify", "--quiet", "--end-of-options", word + "^{commit}"});
    return found.code == 0 ? found.text.substr(0, found.text.find('\n')) : "";
  } catch (const ConfigError&) {
    return "";  // without git or a repository there are no such names
  }
}

/// Refuses names that may stand for another commit tomorrow.
void refuse_moving_name(const std::string& commit) {
  const std::string here = named_here(commit);
  if (here.empty() && !is_moving_name(commit)) return;
  throw ConfigError(fmt::format(
      "--commit {} is a name that stands for another commit tomorrow{}. Name the commit itself, or "
      "give --repository FOLDER to look it up.",
      escape_for_terminal(commit), here.empty() ? "" : fmt::format(", and for {} today", here)));
}

/// Number of commits in the history of one; 0 where a shallow clone lacks some.
std::uint64_t ancestors_of(const history::GitCommand& git, const std::string& commit) {
  if (git.expect({"rev-parse", "--is-shallow-repository"}) != "false") return 0;
  return std::stoull(git.expect({"rev-list", "--count", commit}));
}

/// Looks up the commit, its time and its place if --repository is given.
void look_up(history::RunOptions& run, const AddOptions& options) {
  if (options.repository.empty()) return refuse_moving_name(options.commit);
  if (options.commit.empty()) {
    throw ConfigError("--repository looks up a commit, and none is named. Name it with --commit.");
  }
  const history::GitCommand git(options.repository);
  const ProgramOutput found =
      git.run({"log", "-1", "--format=%H %ct", "--end-of-options", options.commit, "--"});
  const std::size_t space = found.text.find(' ');
  if (found.code != 0 || space == std::string::npos) {
    throw ConfigError(fmt::format("{} is not a commit of {}. See git log there.",
                                  escape_for_terminal(options.commit), options.repository));
  }
  run.commit = found.text.substr(0, space);
  if (!run.time) run.time = std::stoll(found.text.substr(space + 1));
  run.ancestors = ancestors_of(git, run.commit);
}

history::RunOptions run_options(const AddOptions& options) {
  history::RunOptions run;
  run.commit = options.commit;
  run.run = options.run;
  if (!options.time.empty()) run.time = parse_time(options.time, "--time");
  run.axes = facts_of(options.axes, "--axis");
  run.machine = facts_of(options.machine, "--machine");
  run.environment = facts_of(options.environment, "--environment");
  run.launch = facts_of(options.launch, "--launch");
  look_up(run, options);
  return run;
}

/// Named files, and the result files in named folders, each once.
std::vector<std::string> files_among(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::set<fs::path> seen;
  const auto take = [&](const fs::path& path) {
    std::error_code unknown;
    const fs::path real = fs::weakly_canonical(path, unknown);
    if (unknown || seen.insert(real).second) files.push_back(path.string());
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      take(path);
      continue;
    }
    for (const fs::path& file : result_paths(path)) take(file);
  }
  return files;
}

ExitCode add(const AddOptions& options) {
  const history::RunOptions run = run_options(options);
  std::vector<history::ImportedRun> runs;
  std::size_t points = 0;
  const auto files = files_among(options.files);
  if (files.empty()) {
    throw ConfigError(
        "the folders named hold no result file, so there is nothing to add. Name files or folders "
        "with results.");
  }
  for (const std::string& file : files) {
    runs.push_back(history::read_run(file, run));
    const std::vector<std::string>& notes = runs.back().notes;
    if (options.strict && !notes.empty()) {
      throw ConfigError(
          fmt::format("{}: {}, which --strict refuses. Measure again, or leave --strict out.", file,
                      notes.front()));
    }
    for (const std::string& note : notes) fmt::print(stderr, "dlscale: {}\n", note);
    points += runs.back().points.size();
  }
  if (points == 0) {
    throw Error(ExitCode::nothing_measured,
                "the files named hold no measurement, so nothing was added to the history. "
                "Name files or folders with results.");
  }
  history::Store store = options.history.open();
  const history::AddReport report = store.add(runs);
  std::string before =
      report.there_already.empty()
          ? ""
          : fmt::format("; {} of the files were there already", report.there_already.size());
  if (report.restored > 0) {
    before +=
        fmt::format(", and {} points of them that were lost are there again", report.restored);
  }
  if (report.restored_files > 0) {
    before += fmt::format(", and {} of them that the history had lost are kept again",
                          report.restored_files);
  }
  write_output(
      "-", fmt::format("{} points of {} runs were added to {}, {} new series{}\n", report.points,
                       report.runs, store.name(), report.new_series, before));
  return ExitCode::ok;
}

}  // namespace

void declare_history_add(CLI::App& verb, ExitCode& result) {
  CLI::App* command = verb.add_subcommand("add", "Add results to a history");
  auto options = std::make_shared<AddOptions>();
  options->history.declare_store(*command);
  command
      ->add_option("files", options->files,
                   "Result files, or folders of them (*.jsonl); JSON of dlscale validate, Google "
                   "Benchmark and hyperfine; text of nccl-tests and OSU; logs of MLPerf")
      ->type_name("FILE")
      ->required();
  command->add_option("--commit", options->commit,
                      "Commit that was measured (default: as the file says)");
  command->add_option("--time", options->time,
                      "When that commit was made, such as 2026-01-31T12:00:00Z (default: when it "
                      "was measured)");
  command
      ->add_option("--repository", options->repository,
                   "Git repository to look --commit up in, for its full name and its time")
      ->type_name("FOLDER");
  command->add_option("--run", options->run, "Name of the run for people, such as \"nightly 12\"");
  command->add_option("--axis", options->axes, "NAME=VALUE that the case has besides; repeatable");
  command->add_option("--machine", options->machine, "NAME=VALUE of the machine's class");
  command->add_option("--environment", options->environment,
                      "NAME=VALUE of drivers, libraries, containers");
  command->add_option("--launch", options->launch, "NAME=VALUE of the launch's shape");
  for (const char* name : {"--axis", "--machine", "--environment", "--launch"}) {
    command->get_option(name)->expected(1)->take_all();
  }
  command->add_flag("--strict", options->strict,
                    "Refuse files with rows that would be left out or are not sure");
  command->footer(
      "Example: dlscale history add results/local/nightly --store perf-history\nA file that is "
      "there already is not added again. Exit code 5: there was nothing to add.");
  command->callback([options, &result] { result = add(*options); });
}

}  // namespace dlscale::app
