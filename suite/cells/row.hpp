#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "suite/definition/suite.hpp"
#include "suite/job/job.hpp"

namespace dlscale::suite {

/// The outcome of a cell; those from `wrong` on are failures.
enum class CellStatus {
  ok,
  unstable,          ///< some of its measurements did not settle in the time allowed
  throttled,         ///< processors were throttled during the cell
  nothing_measured,  ///< no measurement matches its options or is supported here
  unsupported,       ///< this build lacks a part that it needs
  wrong,             ///< some of its answers are wrong
  failed,            ///< it was refused, or its verdict was negative
  crashed,           ///< it, or one of its ranks, died
  timeout,           ///< it was ended at its time limit
};
std::string_view cell_status_name(CellStatus status);

/// Whether the cell did its work, even if that was to report why it cannot.
bool is_fine(CellStatus status);

/// The record of a finished cell, beside its results.
struct CellRow {
  std::string cell;  ///< SuiteCell::id
  CellStatus status = CellStatus::ok;
  std::string reason;  ///< reason if not ok, in the cell's own words if it has some
  int exit_code = 0;   ///< 128 + signal if a signal ended it
  double seconds = 0;
  std::string started;  ///< UTC, ISO 8601
  /// The command with its launcher and the final names of its files. While the cell ran they were
  /// in a folder that is renamed at its end.
  std::vector<std::string> command;
  LaunchShape shape;
  std::string job;                       ///< scheduler's job; empty outside a job
  std::string nodes;                     ///< nodes of that job
  std::vector<std::string> job_options;  ///< options of its submission (-J)
  int measurements = 0;
  int unstable = 0;  ///< unstable measurements
  int wrong = 0;     ///< measurements with wrong answers
  Conditions before;
  Conditions after;
};

/// Fills in status, reason and the counts of measurements. They follow from how the cell ended and
/// from the files in its folder (results *.jsonl, and its log).
void judge(CellRow& row, const ChildExit& exit, const std::filesystem::path& folder);

/// One line of strict JSON: {"schema": "dlscale.cell", "version": 1, …}.
std::string to_line(const CellRow& row);

/// Throws ConfigError if the line is not a row.
CellRow parse_row(std::string_view line);

/// Names of the row file and of the log file in the folder of a cell.
inline constexpr const char* row_file = "cell.json";
inline constexpr const char* log_file = "log.txt";

}  // namespace dlscale::suite
