#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "suite/definition/suite.hpp"

namespace dlscale::suite {

/// The options that select cells of a suite, their order, and where they run.
struct CellOptions {
  std::string system;                    ///< name in configs/systems, or a YAML file; empty: local
  std::string partition;                 ///< partition of the system; empty: its first
  std::string name;                      ///< regular expression that selects cells by name
  std::string exclude;                   ///< regular expression that excludes cells by name
  std::vector<std::string> tags;         ///< only cells with all of these tags
  std::optional<int> nodes;              ///< only cells on this number of nodes
  std::optional<std::uint64_t> seed;     ///< seed of their order
  std::optional<double> time_budget_s;   ///< budget of this call, for steps as well
  std::string write_scripts;             ///< folder for the job scripts
  std::vector<std::string> job_options;  ///< scheduler options, as job_option_lines() reads them
  std::string distribute;                ///< "idle" or "all": one-node cells on each such node
  bool dry_run = false;                  ///< print estimates, scripts and commands, and stop
  bool submit = false;                   ///< submit the scripts, wait, collect
  bool retry = false;                    ///< repeat failed cells
  /// Whether an option that selects cells was given.
  [[nodiscard]] bool chooses() const;
  /// Whether an option that applies only to cells was given.
  [[nodiscard]] bool any() const;
};

/// The folder, suite and cells of one call.
struct CellCall {
  const Suite* suite = nullptr;
  std::string suite_file;  ///< as given to load_suite()
  std::string out;
  std::string data;  ///< as given; may be empty
  bool fresh = false;
  bool quiet = false;
  std::string build;  ///< the program that measures, in one line
  std::string node;   ///< the single node that jobs may run on; empty: any
  CellOptions options;
  SuiteOptions of_steps;  ///< options that the cells' words already contain, for jobs
};

/// Prints one line for each cell: its name and command line. With --dry-run and a scheduler, prints
/// the job scripts as well.
void list_cells(const CellCall& call);

/// Throws ConfigError if the folder has the results of another plan. Call it before anything is
/// measured.
void check_cells(const CellCall& call);

/// Runs the remaining cells, here or by jobs of a scheduler, and reports all outcomes. Returns ok;
/// wrong_result if some crashed, failed or were wrong; nothing_measured if none measured anything;
/// and inconclusive if some remain. Throws as carry_out_cells() does.
ExitCode run_cells(const CellCall& call);

}  // namespace dlscale::suite
