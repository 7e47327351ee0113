#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/suite/cells/conditions.hpp"
#include "app/suite/definition/suite.hpp"
#include "core/system/child_process.hpp"

namespace dlscale::app {

/// What became of a cell.
enum class CellStatus {
  ok,
  unstable,          ///< some of its measurements did not settle in the time allowed
  throttled,         ///< processors were slowed meanwhile, by heat or a brake
  nothing_measured,  ///< no measurement matches its options or is supported here
  unsupported,       ///< this build lacks what it needs
  wrong,             ///< some of its answers are wrong
  failed,            ///< it was refused, or its verdict was bad
  crashed,           ///< it, or one of its ranks, died
  timeout,           ///< it was ended because it took longer than it may
};
std::string_view cell_status_name(CellStatus status);

/// Whether the cell has done what it was to do, be that to say why it cannot.
bool is_fine(CellStatus status);

/// What is kept of a cell that was carried out, beside its results.
struct CellRow {
  std::string cell;  ///< SuiteCell::id
  CellStatus status = CellStatus::ok;
  std::string reason;  ///< why not ok, in the words of the cell where it has some
  int exit_code = 0;   ///< 128 + signal if a signal ended it
  double seconds = 0;
  std::string started;  ///< UTC, ISO 8601
  /// With its launcher and the names that its files have for good; while it was carried out they
  /// were in a folder that is renamed at its end.
  std::vector<std::string> command;
  LaunchShape shape;
  std::string job;                       ///< of a scheduler; empty outside
  std::string nodes;                     ///< of that job
  std::vector<std::string> job_options;  ///< that it was submitted with (-J)
  int measurements = 0;
  int unstable = 0;  ///< of them
  int wrong = 0;     ///< of them
  Conditions before;
  Conditions after;
};

/// Fills in status and reason, and the counts of measurements, from how the cell ended and from
/// what lies in its folder (results *.jsonl, and its log).
void judge(CellRow& row, const ChildExit& exit, const std::filesystem::path& folder);

/// One line of strict JSON: {"schema": "dlscale.cell", "version": 1, …}.
std::string to_line(const CellRow& row);

/// Throws ConfigError if it is none.
CellRow parse_row(std::string_view line);

/// The file of its row in the folder of a cell, and that of what it said.
inline constexpr const char* row_file = "cell.json";
inline constexpr const char* log_file = "log.txt";

}  // namespace dlscale::app
