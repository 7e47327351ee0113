#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "suite/cells/runner.hpp"
#include "suite/cells/store.hpp"

namespace dlscale::suite {

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
