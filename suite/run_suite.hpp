#pragma once
#include <string>

#include "core/base/error.hpp"
#include "suite/definition/suite.hpp"
#include "suite/run_cells.hpp"

namespace dlscale::suite {

/// The suite to run, and how.
struct SuiteRun {
  std::string suite;                      ///< name in configs/suites, or a YAML file
  std::string out = "results/local/run";  ///< folder of the results
  std::string data;                       ///< folder of the data set; empty: data in `out`
  int workers = 2;                        ///< workers that share this machine, each ≥ 1 core
  int cores = 0;                          ///< cores of a worker; 0: an even share
  bool fresh = false;                     ///< repeat every step
  bool list = false;                      ///< print the commands and stop
  bool quiet = false;                     ///< no progress messages
  SuiteOptions options;                   ///< options for all steps and cells
  CellOptions cells;
  int usable_cores = 1;  ///< cores of this machine that the workers share
  Commands commands;
};

/// Runs the remaining steps of a suite, one process each. Wrong results do not stop a step: they
/// are reported at the end, together with those of earlier calls, and set the exit code. A crash or
/// hang stops only the steps that build upon it. Throws Error with the code of a step that failed
/// otherwise, and Interrupted.
ExitCode run_suite(const SuiteRun& run);

}  // namespace dlscale::suite
