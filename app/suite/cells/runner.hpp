#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/suite/cells/store.hpp"
#include "app/suite/definition/suite.hpp"
#include "app/suite/launch/allocation.hpp"
#include "app/suite/launch/launch_command.hpp"
#include "core/text/progress_line.hpp"

namespace dlscale::app {

/// How cells are carried out.
struct CellRunOptions {
  LaunchPlace place;
  std::optional<Allocation> allocation;  ///< the job in which this process runs
  std::vector<std::pair<std::string, std::string>>
      launcher_settings;           ///< variables that the user's own win over
  std::string program;             ///< the path of this one
  std::optional<double> budget_s;  ///< after which no cell is begun that is not sure to end
  ProgressLine::Kind progress = ProgressLine::Kind::plain;
};

/// What a cell is started with: its command line, with {cell} as `folder`, behind its launcher.
std::vector<std::string> cell_command(const CellRunOptions& options, const SuiteCell& cell,
                                      const std::string& folder);

/// What this process and the system file give to every rank of a cell.
std::map<std::string, std::string> cell_variables(const CellRunOptions& options,
                                                  const SuiteCell& cell, const std::string& folder);

/// Why a run of cells ended.
enum class CellsEnd { finished, out_of_time };

/// Carries out those of the cells that are not done, in their order, each in a process of its own;
/// whatever becomes of one is a row, and the next one follows. Requires that the store is open.
/// Throws Interrupted, and drops the cell under way, if a signal came; ConfigError if the results
/// cannot be written any more; and LibraryError naming the nodes of the allocation that are lost,
/// after the row of the cell that died with them.
CellsEnd carry_out_cells(const CellRunOptions& options, const CellStore& store,
                         std::span<const SuiteCell> cells);

}  // namespace dlscale::app
