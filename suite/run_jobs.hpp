#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/system_file.hpp"
#include "core/text/progress_line.hpp"
#include "suite/cells/store.hpp"
#include "suite/definition/suite.hpp"

namespace dlscale::suite {

/// The parts of a scheduler's jobs. There is one job for each number of nodes that cells run on,
/// and it runs these cells.
struct JobsCall {
  System system;
  Partition partition;
  std::string suite;                 ///< its name
  std::string out;                   ///< folder of the results, on all nodes
  std::vector<std::string> command;  ///< command of this program, without --nodes
  std::string node;                  ///< the single node that it may run on; empty: any
  std::vector<std::string> options;  ///< scheduler options of the command line
  ProgressLine::Kind progress = ProgressLine::Kind::plain;
};

/// Prints the scripts on standard output.
void print_scripts(const JobsCall& call, std::span<const SuiteCell> cells);

/// Writes the scripts into a folder and prints how to submit them. Throws ConfigError.
ExitCode write_scripts(const JobsCall& call, std::span<const SuiteCell> cells,
                       const std::string& folder);

/// The outcome of the jobs.
struct JobsEnd {
  bool lost_nodes = false;  ///< some could not start, or died, for lack of nodes
};

/// A folder of results, and the cells that jobs run for it.
struct JobsPlace {
  JobsCall call;
  const CellStore* store;
  std::vector<SuiteCell> cells;
};

/// Submits the remaining cells to Slurm and waits, with at most as many jobs at a time as the
/// partition takes. If jobs of an earlier call still wait or run, it waits for those instead.
/// Reports why a job failed, and nodes that cannot be used. On a signal it throws Interrupted, and
/// the jobs continue. All places belong to one partition; there is at least one place.
JobsEnd submit_and_wait(std::span<const JobsPlace> places);

}  // namespace dlscale::suite
