#pragma once
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/suite/cells/row.hpp"
#include "app/suite/definition/suite.hpp"

namespace dlscale::app {

/// What the cells of a suite have left in a folder: <out>/cells/<id>/, with its row, its log and
/// its results. A cell is carried out in a folder of another place (<out>/.cells/), which is
/// renamed when all in it is on disk: whatever ends the program, a cell is there whole and once, or
/// not at all.
class CellStore {
 public:
  /// `group` tells apart those that work at the same time, each on cells of its own.
  CellStore(std::filesystem::path out, std::string group);
  ~CellStore();
  CellStore(const CellStore&) = delete;
  CellStore& operator=(const CellStore&) = delete;

  /// Takes the group for this process, and does away with what an earlier one has left that was
  /// killed: processes that it started and that still run here, and the folder of its last cell.
  /// Throws ConfigError if another one is at work, or the place cannot be written.
  void open();
  /// Forgets all cells.
  void discard() const;
  /// Forgets these.
  void discard(std::span<const SuiteCell> cells) const;
  /// The cells that were carried out.
  [[nodiscard]] std::set<std::string> done() const;
  /// Throws ConfigError if it cannot be read.
  [[nodiscard]] CellRow row(const SuiteCell& cell) const;
  /// An empty folder to carry out a cell in. Requires open().
  [[nodiscard]] std::filesystem::path begin(const SuiteCell& cell) const;
  /// Adds the row to what lies there and gives it its name for good. One that others have carried
  /// out meanwhile stays as they did; a folder of that name without a row, which would count as
  /// nothing for ever, is moved aside, and standard error says where to. Throws ConfigError.
  void finish(const SuiteCell& cell, const CellRow& row) const;
  /// Where it lies for good once it was carried out: an absolute path.
  [[nodiscard]] std::filesystem::path place(const SuiteCell& cell) const;
  /// Does away with a cell that was begun.
  void give_up(const SuiteCell& cell) const;
  /// Writes <out>/cells.jsonl: the rows of all of these that were carried out, in their order, and
  /// what the canary said of each call.
  void write_rows(std::span<const SuiteCell> cells) const;

 private:
  [[nodiscard]] std::filesystem::path folder(const SuiteCell& cell) const;
  [[nodiscard]] std::filesystem::path work_folder(const SuiteCell& cell) const;
  /// What lies where the cell is to lie, if there is no row in it.
  void move_aside(const SuiteCell& cell) const;
  std::filesystem::path out_;
  std::filesystem::path work_;
  int lock_ = -1;
};

}  // namespace dlscale::app
