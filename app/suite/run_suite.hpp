#pragma once
#include <string>

#include "app/suite/definition/suite_options.hpp"
#include "app/suite/run_cells.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// A suite to be carried out.
struct SuiteRun {
  std::string suite;                      ///< its name in configs/suites, or a YAML file
  std::string out = "results/local/run";  ///< folder of the results
  std::string data;                       ///< folder of the data set; empty: data in `out`
  int workers = 2;                        ///< that share this machine, each ≥ 1 core
  int cores = 0;                          ///< of a worker; 0: an even share
  bool fresh = false;                     ///< do every step again
  bool list = false;                      ///< print the commands and stop
  bool quiet = false;                     ///< say nothing on the way
  SuiteOptions options;                   ///< for all steps and cells
  CellOptions cells;
};

/// Carries out what is left of a suite, one process a step. Results that are wrong end no step:
/// they are named at the end, also those of earlier calls, and are the exit code. Nor does one that
/// crashes or hangs, but for those that build upon it. Throws Error with the code of a step that
/// failed otherwise, and Interrupted.
ExitCode run_suite(const SuiteRun& run);

}  // namespace dlscale::app
