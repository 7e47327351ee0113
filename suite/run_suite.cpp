#include "suite/run_suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "backend/comm/launch.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/system/build_info.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"
#include "core/text/suggest.hpp"
#include "suite/definition/suite.hpp"
#include "suite/run_cells.hpp"
#include "suite/steps/remaining_steps.hpp"
#include "suite/steps/run_steps.hpp"
#include "suite/steps/suite_outputs.hpp"
#include "suite/steps/suite_progress.hpp"

namespace dlscale::suite {

bool CellOptions::chooses() const {
  return !name.empty() || !exclude.empty() || nodes || !tags.empty();
}

bool CellOptions::any() const {
  return chooses() || !system.empty() || !partition.empty() || seed || !write_scripts.empty() ||
         submit || retry || !job_options.empty() || !distribute.empty();
}

namespace {

namespace fs = std::filesystem;

bool has_all(const std::set<std::string>& tags, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& tag) { return tags.contains(tag); });
}

bool is_wanted(const Suite& suite, const std::vector<std::string>& wanted) {
  return has_all(suite.tags, wanted) ||
         std::ranges::any_of(suite.cells,
                             [&](const SuiteCell& cell) { return has_all(cell.tags, wanted); });
}

/// All tags of the suite and of its cells.
std::set<std::string> all_tags(const Suite& suite) {
  std::set<std::string> tags = suite.tags;
  for (const SuiteCell& cell : suite.cells) tags.insert(cell.tags.begin(), cell.tags.end());
  return tags;
}

[[noreturn]] void refuse_tags(const std::vector<std::string>& wanted,
                              const std::set<std::string>& known) {
  const std::vector<std::string> tags(known.begin(), known.end());
  for (const std::string& tag : wanted) {
    if (known.contains(tag)) continue;
    throw Error(ExitCode::nothing_measured,
                fmt::format("no suite has the tag \"{}\". {}", escape_for_terminal(tag),
                            suggestion(tag, tags)));
  }
  throw Error(ExitCode::nothing_measured,
              fmt::format("no suite, and no cell of one, has the tags {} together. Name fewer.",
                          fmt::join(wanted, ", ")));
}

/// Reads a suite for its names, words and tags, which do not depend on the machine.
Suite load_for_any_machine(const std::string& name, const Commands& commands) {
  return load_suite(
      name,
      {{"out", "out"}, {"data", "data"}, {"workers", "1024"}, {"cores", "1"}, {"threads", "1"}},
      commands);
}

/// Prints the suites in configs/suites, one a line, with description and tags. It prints only those
/// that have all of `tags`, or have a cell with all of them. If none has, throws Error
/// (nothing_measured) naming the existing tags.
ExitCode list_suites(const std::vector<std::string>& tags, const Commands& commands) {
  std::set<std::string> known;
  bool any = false;
  for (const std::string& name : config_names("suites")) {
    const Suite suite = load_for_any_machine(name, commands);
    const std::set<std::string> own = all_tags(suite);
    known.insert(own.begin(), own.end());
    if (!is_wanted(suite, tags)) continue;
    any = true;
    fmt::print("{}: {}{}\n", name, suite.doc,
               own.empty() ? "" : fmt::format(" [{}]", fmt::join(own, ", ")));
  }
  if (!any) refuse_tags(tags, known);
  return ExitCode::ok;
}

/// Cores of a worker, by default an even share of this machine.
int cores_of(const SuiteRun& options) {
  return options.cores > 0 ? options.cores : options.usable_cores / options.workers;
}

/// Values of the placeholders. If a worker has several cores, it leaves one to the loader and
/// communication threads.
std::map<std::string, std::string> placeholders(const SuiteRun& options) {
  const int cores = std::max(1, cores_of(options));
  return {{"out", options.out},
          {"data", options.data.empty() ? options.out + "/data" : options.data},
          {"workers", std::to_string(options.workers)},
          {"cores", std::to_string(cores)},
          {"threads", std::to_string(std::max(1, cores - 1))}};
}

/// Checks the workers of steps, which run on this machine; cells state their own shape.
void check_workers(const SuiteRun& options) {
  const int usable = options.usable_cores;
  const int cores = cores_of(options);
  if (cores >= 1 && cores <= usable / options.workers) return;
  throw ConfigError(
      fmt::format("{} of {} would need more than the {} that this process may use. Lower "
                  "--workers or --cores.",
                  counted(options.workers, "worker"), counted(std::max(cores, 1), "core"),
                  counted(usable, "core")));
}

/// The program that measures, as named in the marks of finished steps.
std::string build_text() {
  const BuildInfo build = build_info();
  return fmt::format("dlscale {}, commit {}{}, build {}, {} {}", build.version, build.commit,
                     build.dirty ? " with local changes" : "", build_id(), build.compiler,
                     build.flags);
}

void refuse_no_folder(const std::string& out) {
  std::error_code error;
  const fs::file_status status = fs::status(out, error);
  if (fs::is_directory(status) || status.type() == fs::file_type::not_found) return;
  throw ConfigError(
      fmt::format("{} {}, and the results of a suite need a folder. Name one with -o.", out,
                  error ? "cannot be used (" + error.message() + ")" : std::string("is a file")));
}

/// Refuses options that would have no effect.
void check_cell_options(const CellOptions& options, const Suite& suite) {
  if (options.time_budget_s && suite.cells.empty() && !suite.keep_going) {
    throw ConfigError(fmt::format(
        "the steps of the suite {} build upon each other, so --time-budget cannot leave "
        "any out. Leave it out, and interrupt the suite when its time is over: the "
        "same command goes on.",
        suite.name));
  }
  if (suite.cells.empty() && options.any()) {
    throw ConfigError(fmt::format(
        "the suite {} has no cells, so options of cells (--system, --name, --tag, --seed and "
        "others) would have no effect: its steps build upon each other, on this "
        "machine. Leave them out.",
        suite.name));
  }
  if (!suite.steps.empty() && (options.submit || !options.write_scripts.empty())) {
    throw ConfigError(
        fmt::format("the suite {} has steps beside its cells, which run on one "
                    "machine one after the other, not in jobs. Start it inside of a "
                    "job, or put the cells into a suite of their own.",
                    suite.name));
  }
}

/// Without a suite only --list works.
ExitCode without_suite(const SuiteRun& options) {
  if (!options.list) {
    throw ConfigError(
        "which suite to carry out is missing. Name one: \"dlscale run --list\" shows those there "
        "are.");
  }
  CellOptions others = options.cells;
  others.tags.clear();
  if (others.any() || others.dry_run || others.time_budget_s) {
    throw ConfigError(
        "no suite is named, so options of its steps and cells but --tag would have no effect. Name "
        "one, or leave them out.");
  }
  return list_suites(options.cells.tags, options.commands);
}

void refuse_launcher() {
  const auto launch = backend::detect_launch([](const char* name) { return std::getenv(name); });
  if (!launch || launch->size == 1) return;
  throw ConfigError(
      fmt::format("a suite was started by {}, but each of its steps starts the ranks it needs "
                  "itself. Start it without a launcher.",
                  launch->launcher));
}

/// Suites that this process is a part of, one a line.
constexpr const char* outer_suites_variable = "_DLSCALE_SUITES";

/// Refuses a suite whose steps or cells carry out itself, which would never end. Names it in the
/// environment for what it starts.
void enter(const SuiteRun& options) {
  constexpr std::ptrdiff_t deepest = 8;
  std::error_code unknown;
  const fs::path file = fs::canonical(find_config("suites", options.suite), unknown);
  const char* const named = std::getenv(outer_suites_variable);
  const std::string outer = named == nullptr ? "" : named;
  const std::string line = file.string() + "\n";
  if (("\n" + outer).find("\n" + line) != std::string::npos ||
      std::ranges::count(outer, '\n') >= deepest) {
    throw ConfigError(fmt::format(
        "a step or cell of the suite {} carries out that suite again, which would never end. Take "
        "it out.",
        escape_for_terminal(file.string())));
  }
  // A job starts the suite anew, with the environment of the call that submits it.
  const bool in_jobs = options.cells.submit || !options.cells.distribute.empty();
  if (!in_jobs) ::setenv(outer_suites_variable, (outer + line).c_str(), 1);
}

}  // namespace

ExitCode run_suite(const SuiteRun& options) {
  if (options.suite.empty()) return without_suite(options);
  if (options.out.empty()) {
    throw ConfigError("--output is empty (results need a folder). Name one.");
  }
  refuse_launcher();
  Suite suite = load_suite(options.suite, placeholders(options), options.commands);
  if (!suite.steps.empty()) check_workers(options);
  check_cell_options(options.cells, suite);
  add_options(options.options, options.commands, suite);
  const double budget_s =
      options.cells.time_budget_s.value_or(std::numeric_limits<double>::infinity());
  const TimeBudget budget(budget_s);
  CellCall cells{.suite = &suite,
                 .suite_file = options.suite,
                 .out = options.out,
                 .data = options.data,
                 .fresh = options.fresh,
                 .quiet = options.quiet,
                 .build = build_text(),
                 .node = "",
                 .options = options.cells,
                 .of_steps = options.options};
  SuiteProgress progress(options.out, build_text());
  if (options.list || options.cells.dry_run) {
    if (options.cells.dry_run && !suite.steps.empty()) {
      print_plan(suite, progress, budget_s);
    } else {
      for (const SuiteStep& each : suite.steps) {
        fmt::print("{}: {}\n", each.name, command_text(each));
      }
    }
    if (!suite.cells.empty()) list_cells(cells);
    return ExitCode::ok;
  }
  refuse_no_folder(options.out);
  refuse_own_files(suite.steps, options.out);
  enter(options);
  if (!suite.cells.empty()) check_cells(cells);
  if (!suite.steps.empty()) progress.lock();  // a process that it ends might hold outputs
  protect_outputs(suite.steps, progress, options.fresh ? Fresh::yes : Fresh::no);
  if (options.fresh) progress.give_up(suite.steps);
  Steps steps(suite, progress, budget, options.quiet);
  steps.carry_out_measuring();
  if (cells.options.time_budget_s && !suite.steps.empty()) {
    cells.options.time_budget_s = steps.room();
  }
  const ExitCode of_cells = suite.cells.empty() ? ExitCode::ok : run_cells(cells);
  steps.carry_out_rest();
  const ExitCode of_rows = conclude(wrong_rows(suite.steps));
  const ExitCode of_steps = steps.conclude();
  if (of_steps == ExitCode::inconclusive && of_rows != ExitCode::ok) return of_rows;
  if (of_steps != ExitCode::ok) return of_steps;
  return of_rows == ExitCode::ok ? of_cells : of_rows;
}

}  // namespace dlscale::suite
