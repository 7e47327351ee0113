#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dlscale::report {

/// Alignment of the cells of a column.
enum class Align { left, right };
/// Rating of a cell; shown by colour if available, never by colour alone.
enum class Tone { plain, good, caution, bad };

/// Meaning of a column of records for tracking numbers from run to run.
enum class Meaning {
  undeclared,     ///< in tables for people; each column of records declares its meaning
  key,            ///< part of the question: the same in every run
  value,          ///< a number of the answer without a unit
  value_in_unit,  ///< a number whose unit is in the column "unit"
  state,          ///< an answer in a word
  remark,         ///< text of the answer, for people
};

struct Column {
  std::string heading;  ///< with its unit: "forward ms"
  Align align = Align::right;
  Meaning meaning = Meaning::undeclared;  ///< meaning in records
  std::vector<std::string> states{};      ///< all possible words of a state
  /// > 0: the format "table" may leave the column out to fit its width, the greatest first.
  int spare = 0;
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

/// A table for people; every row has one cell for each column.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> notes;  ///< below the table
  /// > 0: the format "table" shows so many rows, or notes of a list, and says how many there are.
  std::size_t most_shown = 0;
  /// Not empty: the format "table" shows the rows at these indices, ascending, and says how many
  /// there are.
  std::vector<std::size_t> shown = {};
};
/// Rows that a terminal shows of an answer that may have thousands, the most important first.
inline constexpr std::size_t most_on_terminal = 40;

/// An action that an answer suggests.
struct NextStep {
  std::string reason;   ///< "See what bounds the iteration:"
  std::string command;  ///< for a shell; empty if the action is not a command
  /// Words of the command that stand for names of the reader: "BASE".
  std::vector<std::string> placeholders = {};
};

/// A small drawing of values above 0 beside what they would ideally be, in the order of `x`.
struct Curve {
  struct Point {
    double x = 0;
    double y = 0;
    double ideal = 0;
  };
  std::string name;           ///< "speed-up over GPUs"
  std::vector<Point> points;  ///< fewer than 3: nothing to draw
};

/// An answer in strict JSON with a schema and a version. Its text is made on demand, since most
/// formats do not need it.
class JsonText {
 public:
  using Object = std::function<nlohmann::ordered_json()>;

  JsonText() = default;
  /// NOLINTNEXTLINE(google-explicit-constructor): a text that was made elsewhere.
  JsonText(std::string text) : make_([text = std::move(text)] { return text; }) {}
  /// `make` owns the data it reads, since it may run much later.
  JsonText(std::string schema, std::function<std::string()> make, Object summary = {})
      : schema_(std::move(schema)), make_(std::move(make)), summary_(std::move(summary)) {}

  [[nodiscard]] std::string operator()() const { return make_ ? make_() : ""; }
  /// Name of the kind of answer, "dlscale.prediction"; empty if only the text has it.
  [[nodiscard]] const std::string& schema() const { return schema_; }
  /// Makes the answer without what only figures need; empty for texts that were made elsewhere.
  [[nodiscard]] const Object& summary() const { return summary_; }

 private:
  std::string schema_;
  std::function<std::string()> make_;
  Object summary_;
};

/// One answer in all its output forms.
struct Document {
  std::string lead;           ///< the answer in a sentence; may be empty
  std::vector<Table> tables;  ///< for people
  Table records;    ///< for programs: one row for each record, plain numbers in SI, unit in key
  JsonText json{};  ///< for programs: the complete answer
  /// Rows that pass or fail in addition to the records: cells of suites.
  Table cells{};
  /// Rows that pass or fail in place of the records, if the records hold something else. Has a
  /// column "verdict".
  Table verdicts{};
  /// Properties that all records share and do not list: {"machine", "…"}.
  std::vector<std::pair<std::string, std::string>> labels{};
  /// Whether formats with only pass and fail report an improvement as a failure.
  bool improvement_fails = false;
  /// Likewise for rows that one side measured and the other did not.
  bool missing_fails = false;
  Curve curve{};                 ///< for people at a terminal
  std::vector<NextStep> next{};  ///< for people: one to three commands, or nothing
};

}  // namespace dlscale::report
