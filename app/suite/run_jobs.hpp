#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/suite/cells/store.hpp"
#include "app/suite/definition/suite.hpp"
#include "core/base/error.hpp"
#include "core/config/system_file.hpp"
#include "core/text/progress_line.hpp"

namespace dlscale::app {

/// What jobs of a scheduler are made of: one for each number of nodes that cells run on, which
/// carries out these inside of it.
struct JobsCall {
  System system;
  Partition partition;
  std::string suite;                 ///< its name
  std::string out;                   ///< folder of the results, on all nodes
  std::vector<std::string> command;  ///< of this program, without --nodes
  std::string node;                  ///< the only one that it may run on; empty: any
  std::vector<std::string> options;  ///< for the scheduler, of the command line
  ProgressLine::Kind progress = ProgressLine::Kind::plain;
};

/// Prints the scripts on standard output.
void print_scripts(const JobsCall& call, std::span<const SuiteCell> cells);

/// Writes them into a folder and says how to submit them. Throws ConfigError.
ExitCode write_scripts(const JobsCall& call, std::span<const SuiteCell> cells,
                       const std::string& folder);

/// How the jobs ended.
struct JobsEnd {
  bool lost_nodes = false;  ///< some could not start, or died, for want of nodes
};

/// A folder of results, and the cells that jobs are to carry out for it.
struct JobsPlace {
  JobsCall call;
  const CellStore* store;
  std::vector<SuiteCell> cells;
};

/// Submits what is left to Slurm, no more jobs at a time than the partition takes, and waits; jobs
/// of an earlier call that still wait or run are waited for instead. Says why a job did not end
/// well, and names nodes that cannot be used. Throws Interrupted if a signal came: the jobs go on.
/// All places are of one partition, of which there is at least one.
JobsEnd submit_and_wait(std::span<const JobsPlace> places);

}  // namespace dlscale::app
