#pragma once
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/system/output_file.hpp"
#include "suite/cells/row.hpp"
#include "suite/definition/suite.hpp"

namespace dlscale::suite {

/// The cells of a suite in a folder: <out>/cells/<id>/, each with its row, log and results. A cell
/// runs in another folder (<out>/.cells/), which is renamed when all its files are on disk. So a
/// cell exists completely and once, or not at all, however the program ends.
class CellStore {
 public:
  /// `group` separates programs that work at the same time, each on its own cells.
  CellStore(std::filesystem::path out, std::string group);
  CellStore(const CellStore&) = delete;
  CellStore& operator=(const CellStore&) = delete;

  /// Locks the group for this process and cleans up after a killed one: its processes that still
  /// run here, and the folder of its last cell. Throws ConfigError if another process works on the
  /// group, or if the folder cannot be written.
  void open();
  /// Removes all cells.
  void discard() const;
  /// Removes these cells.
  void discard(std::span<const SuiteCell> cells) const;
  /// The ids of finished cells.
  [[nodiscard]] std::set<std::string> done() const;
  /// The row of a finished cell. Throws ConfigError if it cannot be read.
  [[nodiscard]] CellRow row(const SuiteCell& cell) const;
  /// An empty folder to run a cell in. Requires open().
  [[nodiscard]] std::filesystem::path begin(const SuiteCell& cell) const;
  /// Adds the row to the cell's folder and gives that its final name. A cell that others finished
  /// meanwhile stays as it is. A folder of that name without a row, which would never count, is
  /// moved aside, and standard error says where to. Throws ConfigError.
  void finish(const SuiteCell& cell, const CellRow& row) const;
  /// The final folder of a cell: an absolute path.
  [[nodiscard]] std::filesystem::path place(const SuiteCell& cell) const;
  /// Removes a cell that was begun.
  void give_up(const SuiteCell& cell) const;
  /// Writes <out>/cells.jsonl: the rows of the finished cells in their order, and the canary
  /// records of all calls.
  void write_rows(std::span<const SuiteCell> cells) const;

 private:
  [[nodiscard]] std::filesystem::path folder(const SuiteCell& cell) const;
  [[nodiscard]] std::filesystem::path work_folder(const SuiteCell& cell) const;
  /// Moves the folder in the cell's place aside if it has no row.
  void move_aside(const SuiteCell& cell) const;
  std::filesystem::path out_;
  std::filesystem::path work_;
  Descriptor lock_;
};

}  // namespace dlscale::suite
