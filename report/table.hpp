#pragma once
#include <string>
#include <vector>

namespace dlscale::report {

/// How the cells of a column stand.
enum class Align { left, right };
/// How a cell is meant; shown by colour where there is colour, never by colour alone.
enum class Tone { plain, good, caution, bad };

struct Column {
  std::string heading;  ///< with its unit: "forward ms"
  Align align = Align::right;
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

/// What people read: every row has one cell a column.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> notes;  ///< below the table
};

/// One answer in all the forms it can be printed in.
struct Document {
  std::string lead;           ///< the answer in a sentence; may be empty
  std::vector<Table> tables;  ///< for people
  Table records;              ///< for programs: one row a record, plain numbers in SI, unit in key
  std::string json;           ///< strict JSON with schema and version
  /// What is told apart by passing and failing fails for an improvement, too.
  bool improvement_fails = false;
};

}  // namespace dlscale::report
