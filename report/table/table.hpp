#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dlscale::report {

/// How the cells of a column stand.
enum class Align { left, right };
/// How a cell is meant; shown by colour where there is colour, never by colour alone.
enum class Tone { plain, good, caution, bad };

/// What a column of records is to those who follow numbers from run to run.
enum class Meaning {
  by_name,        ///< a value, state or remark where its heading is known for one, else a key
  key,            ///< part of the question: the same in every run
  value,          ///< a number of the answer, that has no unit
  value_in_unit,  ///< one whose unit is told by the column "unit"
  state,          ///< an answer in a word
  remark,         ///< an answer for people
};

struct Column {
  std::string heading;  ///< with its unit: "forward ms"
  Align align = Align::right;
  Meaning meaning = Meaning::by_name;  ///< of records
  std::vector<std::string> states{};   ///< every word that a state can be
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

/// An answer in strict JSON with a schema and a version. Its text is made when a format asks for
/// it, since other formats do without.
class JsonText {
 public:
  JsonText() = default;
  /// NOLINTNEXTLINE(google-explicit-constructor): a text that was made elsewhere.
  JsonText(std::string text) : make_([text = std::move(text)] { return text; }) {}
  /// `make` owns what it reads, since it may run long after.
  JsonText(std::string schema, std::function<std::string()> make)
      : schema_(std::move(schema)), make_(std::move(make)) {}

  [[nodiscard]] std::string operator()() const { return make_ ? make_() : ""; }
  /// Name of the kind of answer, "dlscale.prediction"; empty where only the text has it.
  [[nodiscard]] const std::string& schema() const { return schema_; }

 private:
  std::string schema_;
  std::function<std::string()> make_;
};

/// One answer in all the forms it can be printed in.
struct Document {
  std::string lead;           ///< the answer in a sentence; may be empty
  std::vector<Table> tables;  ///< for people
  Table records;              ///< for programs: one row a record, plain numbers in SI, unit in key
  JsonText json{};            ///< for programs: all of it
  /// What else passes or fails, beside the records, and likewise: cells of suites.
  Table cells{};
  /// What passes or fails, in place of the records, where these are of something else: one row
  /// each, with a column "verdict".
  Table verdicts{};
  /// What all records have in common and does not stand in them: {"machine", "…"}.
  std::vector<std::pair<std::string, std::string>> labels{};
  /// What is told apart by passing and failing fails for an improvement, too.
  bool improvement_fails = false;
  /// And for what one side measured and the other did not.
  bool missing_fails = false;
};

}  // namespace dlscale::report
