#include "suite/cells/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/comm/launch.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/time_text.hpp"
#include "suite/job/job.hpp"
#include "suite/launch/slurm.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;

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
    const JobEnd end = run(cell, folder);
    row.seconds = end.wall.si();
    row.before = end.before;
    row.after = end.after;
    judge(row, end.exit, folder);
    if (!is_fine(row.status)) check_room(folder);
    const std::string lost = row.status == CellStatus::crashed ? lost_nodes(options_) : "";
    if (!lost.empty()) row.reason += fmt::format("; its job has lost {}", lost);
    // Store the row first: otherwise a cell that takes its node down would stop every later call.
    store_.finish(cell, row);
    if (!lost.empty()) refuse_to_go_on(lost);
    return row.seconds;
  }

 private:
  /// Runs the cell in its folder, which a signal removes.
  [[nodiscard]] JobEnd run(const SuiteCell& cell, const fs::path& folder) const {
    try {
      return run_job({.command = cell_command(options_, cell, folder.string()),
                      .place = folder.string(),
                      .variables = cell_variables(options_, cell, folder.string()),
                      .defaults = options_.launcher_settings,
                      .log = folder / log_file,
                      .timeout_s = cell.timeout_s,
                      .leftovers = Job::Leftovers::are_ended});
    } catch (const Interrupted&) {
      store_.give_up(cell);
      throw;
    }
  }

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
    return row;
  }

  const CellRunOptions& options_;
  const CellStore& store_;
};

/// Maximum number of cells that are named.
constexpr std::size_t named_cells = 10;

std::string cells_text(std::size_t count) {
  return counted(static_cast<long long>(count), "cell");
}

void name_bad(const std::vector<CellRow>& bad) {
  for (std::size_t i = 0; i < std::min(bad.size(), named_cells); ++i) {
    fmt::print(stderr, "dlscale: cell \"{}\": {}: {}\n", bad[i].cell,
               cell_status_name(bad[i].status), bad[i].reason);
  }
  if (bad.size() > named_cells) {
    fmt::print(stderr, "dlscale: and {} more; cells.jsonl names all\n",
               cells_text(bad.size() - named_cells));
  }
}

}  // namespace

std::map<std::string, std::string> cell_variables(const CellRunOptions& options,
                                                  const SuiteCell& cell,
                                                  const std::string& folder) {
  std::map<std::string, std::string> variables = options.place.partition.environment;
  variables[place_variable] = folder;
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
  const TimeBudget budget(options.budget_s);
  const std::set<std::string> there = store.done();
  TimeLeft left = TimeLeft::of(cells);
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
    if (cell.seconds > budget.left()) return CellsEnd::out_of_time;
    line.show(cell_progress(done, cells.size(), cell.name, left.seconds()));
    left.finished(cell.seconds, runner.carry_out(cell));
    ++done;
  }
  return CellsEnd::finished;
}

bool everything_done(const CellStore& store, std::span<const SuiteCell> cells) {
  const std::set<std::string> there = store.done();
  return std::ranges::all_of(cells, [&](const SuiteCell& cell) { return there.contains(cell.id); });
}

ExitCode conclude_cells(const CellStore& store, std::span<const SuiteCell> cells, CellsEnd end,
                        bool quiet) {
  const std::set<std::string> there = store.done();
  std::map<CellStatus, std::size_t> counts;
  std::vector<CellRow> bad;
  std::size_t done = 0;
  long long measurements = 0;
  for (const SuiteCell& cell : cells) {
    if (!there.contains(cell.id)) continue;
    ++done;
    CellRow row = store.row(cell);
    ++counts[row.status];
    measurements += row.measurements;
    if (!is_fine(row.status)) bad.push_back(std::move(row));
  }
  std::vector<std::string> words;
  for (const auto& [status, count] : counts) {
    words.push_back(fmt::format("{} {}", count, cell_status_name(status)));
  }
  if (!quiet) {
    fmt::print(stderr, "dlscale: {} of {}: {}\n", done, cells_text(cells.size()),
               words.empty() ? "none was carried out" : fmt::format("{}", fmt::join(words, ", ")));
  }
  name_bad(bad);
  const std::size_t left = cells.size() - done;
  if (left > 0) {
    fmt::print(stderr, "dlscale: {} left{}; the same command goes on with {}\n",
               left == 1 ? "1 cell is" : cells_text(left) + " are",
               end == CellsEnd::out_of_time ? ", since the time budget is spent" : "",
               left == 1 ? "it" : "them");
  }
  if (!bad.empty()) return ExitCode::wrong_result;
  if (left > 0) return ExitCode::inconclusive;
  const bool any_fits = counts.contains(CellStatus::ok) || measurements > 0;
  return any_fits ? ExitCode::ok : ExitCode::nothing_measured;
}

std::string cell_progress(std::size_t done, std::size_t cells, const std::string& now,
                          double seconds_left) {
  return fmt::format("[{}/{} cells] {} (about {} left)", done, cells, now,
                     duration_text(seconds_left));
}

}  // namespace dlscale::suite
