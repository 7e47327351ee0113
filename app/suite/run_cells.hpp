#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_options.hpp"
#include "core/base/error.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Which cells of a suite are carried out, in what order, and where.
struct CellOptions {
  std::string system;                 ///< its name in configs/systems, or a YAML file; empty: local
  std::string partition;              ///< of the system; empty: its first
  std::string name;                   ///< regular expression: only cells whose name it is found in
  std::string exclude;                ///< likewise: not those
  std::vector<std::string> tags;      ///< only cells that have all of them
  std::optional<int> nodes;           ///< only cells of so many
  std::optional<std::uint64_t> seed;  ///< of their order
  std::optional<double> time_budget_s;  ///< of this call, for steps as well
  std::string write_scripts;             ///< folder for the scripts of jobs
  std::vector<std::string> job_options;  ///< for the scheduler, as job_option_lines() reads them
  std::string distribute;                ///< "idle" or "all": cells of one node on each such node
  bool dry_run = false;                  ///< print estimates, scripts and commands, and stop
  bool submit = false;                   ///< hand the scripts to the scheduler, wait, collect
  bool retry = false;                    ///< again those cells that failed
  /// Whether those were given that choose cells.
  [[nodiscard]] bool chooses() const;
  /// Whether any of them was given that is of cells alone.
  [[nodiscard]] bool any() const;
};

/// Adds the options to `dlscale run`.
void declare_cell_options(CLI::App& verb, CellOptions& options);

/// The folder, suite and cells of one call.
struct CellCall {
  const Suite* suite = nullptr;
  std::string suite_file;  ///< as load_suite() was given it
  std::string out;
  std::string data;  ///< as given; may be empty
  bool fresh = false;
  bool quiet = false;
  std::string build;  ///< the program that measures, in one line
  std::string node;   ///< the only one that jobs may run on; empty: any
  CellOptions options;
  SuiteOptions of_steps;  ///< that the words of the cells have already, for those of jobs
};

/// Prints what would be done: one line a cell, its name and command line; with --dry-run where a
/// scheduler is, the scripts of its jobs as well.
void list_cells(const CellCall& call);

/// Throws ConfigError where what lies in the folder is of another plan. To be called before
/// anything is measured.
void check_cells(const CellCall& call);

/// Carries out the cells that are left, here or by jobs of a scheduler, and says what became of
/// all. Returns ok; wrong_result if some crashed, failed or were wrong; nothing_measured if none
/// measured anything; and inconclusive if there are some left. Throws as carry_out_cells() does.
ExitCode run_cells(const CellCall& call);

}  // namespace dlscale::app
