#include "suite/cells/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "backend/comm/launch.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/output_file.hpp"
#include "core/system/process.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/time_text.hpp"
#include "suite/cells/orphans.hpp"
#include "suite/cells/summary.hpp"
#include "suite/definition/suite_progress.hpp"
#include "suite/launch/slurm.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Waits briefly for a late signal. A scheduler that ends a job may signal its programs before it
/// signals this process. The current cell was then interrupted as well and has not crashed.
void look_for_late_signal(const ChildExit& exit) {
  const ExitCode code = exit_code_of(exit);
  const bool was_signalled = exit.code > 128 || code == ExitCode::interrupted;
  for (int look = 0; was_signalled && !exit.timed_out && look < 20; ++look) {
    if (pending_signal() != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// The lost nodes of the allocation, on one of which a cell may have died. Empty if none is known
/// to be lost, also if Slurm does not answer, as in a container without its programs.
std::string lost_nodes(const CellRunOptions& options) {
  if (!options.allocation || options.allocation->scheduler != Scheduler::slurm) return {};
  if (options.allocation->names.empty()) return {};
  try {
    return lost_text(slurm_nodes("", options.allocation->names));
  } catch (const LibraryError&) {
    return {};
  }
}

/// Throws ConfigError if the cell failed because results cannot be written; other cells would fail
/// as well.
void check_room(const fs::path& folder) {
  const std::string problem = write_problem(folder);
  if (problem.empty()) return;
  throw ConfigError(
      fmt::format("{} takes no more results ({}), so the suite ends here; what it has measured "
                  "before is kept. Free space or allow writing there and run the same command "
                  "again, or choose another place with -o.",
                  folder.string(), problem));
}

class CellRunner {
 public:
  CellRunner(const CellRunOptions& options, const CellStore& store)
      : options_(options), store_(store) {}

  /// Runs a cell and returns its time in seconds.
  double carry_out(const SuiteCell& cell) {
    const fs::path folder = fs::absolute(store_.begin(cell)).lexically_normal();
    CellRow row = begin_row(cell);
    const ChildOptions child{.variables = cell_variables(options_, cell, folder.string()),
                             .log = folder / log_file,
                             .timeout_s = cell.timeout_s,
                             .signals = ChildOptions::Signals::to_child};
    const auto start = Clock::now();
    const ChildExit exit =
        run_child(cell_command(options_, cell, folder.string()), options_.launcher_settings, child);
    row.seconds = seconds_since(start);
    if (exit.code != 0) end_orphans(folder.parent_path().string() + "/", "a cell");
    look_for_late_signal(exit);
    if (const int signal = pending_signal(); signal != 0) {
      store_.give_up(cell);
      throw Interrupted(signal);
    }
    row.after = look_at_machine();
    judge(row, exit, folder);
    if (!is_fine(row.status)) check_room(folder);
    const std::string lost = row.status == CellStatus::crashed ? lost_nodes(options_) : "";
    if (!lost.empty()) row.reason += fmt::format("; its job has lost {}", lost);
    // Store the row first: otherwise a cell that takes its node down would stop every later call.
    store_.finish(cell, row);
    if (!lost.empty()) refuse_to_go_on(lost);
    return row.seconds;
  }

 private:
  [[noreturn]] void refuse_to_go_on(const std::string& lost) const {
    throw LibraryError(fmt::format(
        "job {} has lost {}, so the cell under way died and the others cannot start; what was "
        "measured before is kept. The same command goes on with nodes that answer, and --retry "
        "carries out again the cell that died.",
        options_.allocation->job, lost));
  }

  [[nodiscard]] CellRow begin_row(const SuiteCell& cell) const {
    CellRow row;
    row.cell = cell.id;
    row.started = utc_now();
    // Use the final place of the results, since the current folder is renamed.
    row.command = cell_command(options_, cell, store_.place(cell).string());
    row.shape = cell.shape;
    if (options_.allocation) {
      row.job = options_.allocation->job;
      row.nodes = options_.allocation->names;
      row.job_options = options_.allocation->options;
    }
    row.before = look_at_machine();
    return row;
  }

  const CellRunOptions& options_;
  const CellStore& store_;
};

}  // namespace

std::map<std::string, std::string> cell_variables(const CellRunOptions& options,
                                                  const SuiteCell& cell,
                                                  const std::string& folder) {
  std::map<std::string, std::string> variables = options.place.partition.environment;
  variables[cell_variable] = folder;
  variables[backend::expected_ranks_variable] = std::to_string(cell.shape.ranks());
  return variables;
}

std::vector<std::string> cell_command(const CellRunOptions& options, const SuiteCell& cell,
                                      const std::string& folder) {
  std::vector<std::string> words{options.program};
  for (const std::string& word : cell.words) words.push_back(replaced(word, "{cell}", folder));
  std::map<std::string, std::string> variables = cell_variables(options, cell, folder);
  // Name this process's variables, since mpirun must be told which ones to pass on.
  for (const char* name : {"DLSCALE_CONFIGS", "LD_LIBRARY_PATH"}) {
    if (std::getenv(name) != nullptr) variables.emplace(name, "");
  }
  return launch_command(options.place, cell.shape, words, variables);
}

CellsEnd carry_out_cells(const CellRunOptions& options, const CellStore& store,
                         std::span<const SuiteCell> cells) {
  const auto start = Clock::now();
  const std::set<std::string> there = store.done();
  std::vector<double> estimates;
  for (const SuiteCell& cell : cells) estimates.push_back(cell.seconds);
  TimeLeft left(estimates);
  std::size_t done = 0;
  for (const SuiteCell& cell : cells) {
    if (!there.contains(cell.id)) continue;
    ++done;
    left.finished(cell.seconds, store.row(cell).seconds);
  }
  CellRunner runner(options, store);
  ProgressLine line(options.progress);
  for (const SuiteCell& cell : cells) {
    if (there.contains(cell.id)) continue;
    throw_if_interrupted();
    const bool fits = !options.budget_s || seconds_since(start) + cell.seconds <= *options.budget_s;
    if (!fits) return CellsEnd::out_of_time;
    line.show(cell_progress(done, cells.size(), cell.name, left.seconds()));
    left.finished(cell.seconds, runner.carry_out(cell));
    ++done;
  }
  return CellsEnd::finished;
}

}  // namespace dlscale::suite
