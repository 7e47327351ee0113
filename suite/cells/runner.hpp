#pragma once
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/progress_line.hpp"
#include "suite/cells/store.hpp"
#include "suite/definition/suite.hpp"
#include "suite/launch/allocation.hpp"
#include "suite/launch/launch_command.hpp"

namespace dlscale::suite {

/// The conditions under which cells run.
struct CellRunOptions {
  LaunchPlace place;
  std::optional<Allocation> allocation;  ///< the job in which this process runs
  std::vector<std::pair<std::string, std::string>>
      launcher_settings;  ///< variables; those of the user win over them
  std::string program;    ///< path of this program
  /// Budget of time from the first cell on; only cells that are sure to end in it begin.
  double budget_s = std::numeric_limits<double>::infinity();
  ProgressLine::Kind progress = ProgressLine::Kind::plain;
};

/// The command line of a cell behind its launcher, with `folder` in place of {cell}.
std::vector<std::string> cell_command(const CellRunOptions& options, const SuiteCell& cell,
                                      const std::string& folder);

/// The environment variables that this process and the system file give to every rank of a cell.
std::map<std::string, std::string> cell_variables(const CellRunOptions& options,
                                                  const SuiteCell& cell, const std::string& folder);

/// The reason why a run of cells ended.
enum class CellsEnd { finished, out_of_time };

/// Runs the unfinished cells in their order, each in a process of its own. Every outcome becomes a
/// row, and the next cell follows. Requires an open store. On a signal it throws Interrupted and
/// drops the current cell. Throws ConfigError if results cannot be written any more. Throws
/// LibraryError naming lost nodes of the allocation, after the row of the cell that died with them.
CellsEnd carry_out_cells(const CellRunOptions& options, const CellStore& store,
                         std::span<const SuiteCell> cells);

/// Whether all cells are finished.
bool everything_done(const CellStore& store, std::span<const SuiteCell> cells);

/// Prints the outcome of the cells on standard error: the count of each status, the first few that
/// are not fine by name, and the remaining ones. Wrong answers are reported even if `quiet`.
/// Returns the exit code of run_cells().
ExitCode conclude_cells(const CellStore& store, std::span<const SuiteCell> cells, CellsEnd end,
                        bool quiet);

/// "[12/200 cells] allreduce.4 (about 3 min left)". `done` counts finished cells, `now` names the
/// current one, and `seconds_left` is the estimate for the rest.
std::string cell_progress(std::size_t done, std::size_t cells, const std::string& now,
                          double seconds_left);

}  // namespace dlscale::suite
