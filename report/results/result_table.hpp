#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/results/measurement.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Outcome of one cell of a suite (docs/reference/suites/cells.md).
struct CellOutcome {
  std::string cell;
  std::string status;   ///< "ok", "crashed", …; "left": planned and not yet run
  bool is_fine = true;  ///< the cell did its job, even if that was to report why it cannot run
  std::string reason;   ///< why the status is not ok
  int exit_code = 0;    ///< 128 + signal if a signal ended it
  double seconds = 0;
  std::string started;  ///< UTC, ISO 8601
  std::string command;  ///< as a shell command, with its launcher
  std::string shape;    ///< "2 nodes, 4 ranks a node, …"
  std::string job;      ///< scheduler job and its nodes; empty outside a scheduler
  int measurements = 0;
  int unstable = 0;  ///< unstable ones among them
  int wrong = 0;     ///< wrong ones among them
  std::string load;  ///< load before the cell
  std::string clocks;
  std::int64_t slowed_by_heat = 0;  ///< increase of the kernel's throttle count meanwhile
};

/// The A/A control of one call: a kernel against itself, where every ratio should be 1.
struct CanaryOutcome {
  std::string started;  ///< UTC, ISO 8601
  std::string host;     ///< hash of its name
  bool is_stable = true;
  std::string first;  ///< at the start of the call: "+0.1 % [-0.2 %, +0.3 %]"
  std::string last;   ///< at its end
  std::string drift;  ///< change from first to last
};

/// Records of a suite of cells besides its results.
struct SuiteRecord {
  std::string folder;
  std::string suite;
  std::string build;
  std::string system;
  std::uint64_t seed = 0;
  std::vector<CellOutcome> cells;  ///< in the order of the plan
  std::vector<CanaryOutcome> canaries;
};

/// Finding of a study of a machine's noise (dlscale noise).
struct NoiseFinding {
  std::string file;
  std::string machine;
  std::string date;
  std::string sentence;  ///< "changes of 3.0 % or more (10 rounds, margin 1.0 %)"
  std::string sees = {};  ///< "3.0 %", "none up to 50 %" or "not known"
  double margin = 0;      ///< of the study's gate
  /// By kernel: robust spread of the logarithm of identical runs' ratio (KernelNoise::paired).
  std::map<std::string, double> spreads = {};
};

/// The cells of the suites as a list in JSON.
nlohmann::ordered_json cells_json(std::span<const SuiteRecord> suites);

/// One row for each measurement: benchmark, all axes, status, median and interval of each series,
/// rates, machine. Headings include the unit; cells that do not apply are empty.
Table result_records(std::span<const ResultFile> results);

/// {"schema": "dlscale.result_summary", "version": 1, "measurements": [...]}: medians and intervals
/// of results with derived rates, without samples. With suites also "cells": [{"suite": ...,
/// "cell": ..., "status": ..., "reason": ..., ...}].
JsonText results_json(std::span<const ResultFile> results,
                      std::span<const SuiteRecord> suites = {});

}  // namespace dlscale::report
