#pragma once
#include <span>

#include "app/suite/cells/runner.hpp"
#include "app/suite/cells/store.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// Whether none of them is left.
bool everything_done(const CellStore& store, std::span<const SuiteCell> cells);

/// Says on standard error what became of the cells: how many of each status, the first few that are
/// not fine by name, and what is left. Returns the exit code of a run of cells (run_cells()); what
/// is wrong is said also where all else is quiet.
ExitCode conclude_cells(const CellStore& store, std::span<const SuiteCell> cells, CellsEnd end,
                        bool quiet);

}  // namespace dlscale::app
