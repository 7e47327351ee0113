// dlscale history add: adds results of dlscale and of other programs to a history.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/history/history_options.hpp"
#include "app/history/named_commit.hpp"
#include "core/base/error.hpp"
#include "core/results/result_paths.hpp"
#include "core/system/output.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"
#include "regression/history/run.hpp"
#include "regression/import/content_kind.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
namespace history = regression::history;

struct AddOptions {
  HistoryOptions history;
  std::vector<std::string> files;
  NamedCommit commit;
  std::string run;
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

history::RunOptions run_options(const AddOptions& options, std::vector<std::string>& notes) {
  history::RunOptions run = options.commit.look_up(notes);
  run.run = options.run;
  run.axes = facts_of(options.axes, "--axis");
  run.machine = facts_of(options.machine, "--machine");
  run.environment = facts_of(options.environment, "--environment");
  run.launch = facts_of(options.launch, "--launch");
  return run;
}

/// The files in a folder that a history reads: results of dlscale, and those of other programs that
/// are named as such files usually are.
std::vector<fs::path> files_in(const fs::path& folder, std::vector<std::string>& notes) {
  std::vector<fs::path> files = result_paths(folder);
  std::vector<fs::path> others;
  constexpr std::array<std::string_view, 4> names{".json", ".txt", ".log", ".out"};
  for (const fs::path& file : named_paths(folder, names)) {
    try {
      const bool is_known = history::kind_of_file(file) != history::ContentKind::unknown;
      (is_known ? files : others).push_back(file);
    } catch (const ConfigError& error) {
      // An old log may be damaged; a file that is named is refused for that.
      notes.push_back(fmt::format("passed over: {}", escape_for_terminal(error.what())));
    }
  }
  std::ranges::sort(files);
  if (!others.empty()) {
    notes.push_back(fmt::format("passed over: {} below {} that no history reads, first {}",
                                counted(static_cast<long long>(others.size()), "file"),
                                escape_for_terminal(folder.string()),
                                escape_for_terminal(others.front().string())));
  }
  return files;
}

/// Named files, and those in named folders, each once.
std::vector<std::string> files_among(const std::vector<std::string>& paths,
                                     std::vector<std::string>& notes) {
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
    for (const fs::path& file : files_in(path, notes)) take(file);
  }
  return files;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "dlscale: {}\n", note);
}

/// Throws ConfigError for any doubt, as --strict asks.
void expect_none(const std::vector<std::string>& doubts, const std::string& of) {
  if (doubts.empty()) return;
  throw ConfigError(fmt::format(
      "{}: {}, which --strict refuses. Measure again, or leave --strict out.", of, doubts.front()));
}

ExitCode add(const AddOptions& options) {
  std::vector<std::string> notes;
  const history::RunOptions run = run_options(options, notes);
  std::vector<history::ImportedRun> runs;
  std::size_t points = 0;
  const auto files = files_among(options.files, notes);
  if (files.empty()) {
    throw ConfigError(
        "the folders named hold no result file (*.jsonl, or *.json, *.txt, *.log or *.out of a "
        "program that a history reads), so there is nothing to add. Name files or folders with "
        "results.");
  }
  for (const std::string& file : files) {
    runs.push_back(history::read_run(file, run));
    if (options.strict) expect_none(runs.back().notes, file);
    print_notes(runs.back().notes);
    points += runs.back().points.size();
  }
  if (points == 0) {
    throw Error(ExitCode::nothing_measured,
                "the files named hold no measurement, so nothing was added to the history. "
                "Name files or folders with results.");
  }
  history::Store store = options.history.open();
  print_notes(notes);
  if (!store.is_empty()) {
    const std::vector<history::RunRecord> there = store.runs();
    print_notes(options.commit.compare(there, runs));
    const std::vector<std::string> equal = history::notes_on_equal_files(there, runs);
    if (options.strict) expect_none(equal, store.name());
    print_notes(equal);
  }
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
                   "Result files (*.jsonl); JSON of dlscale validate, Google Benchmark and "
                   "hyperfine; text of nccl-tests and OSU; logs of MLPerf; or folders of them")
      ->type_name("FILE")
      ->required();
  options->commit.declare(*command);
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
