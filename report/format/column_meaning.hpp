#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/table/table.hpp"

namespace dlscale::report::format {

/// Name of a number without its unit, and the full name of the unit: "bytes_per_second".
struct Quantity {
  std::string stem;
  std::string unit;  ///< empty: a plain number
};

/// Records for formats that track numbers from run to run: questions, and numbers and states that
/// answer them.
class TrackedTable {
 public:
  /// The table must outlive this. Requires a declared meaning for every column: a number without
  /// one would silently be absent from the formats.
  explicit TrackedTable(const Table& table);

  [[nodiscard]] std::size_t rows() const { return table_.rows.size(); }
  [[nodiscard]] const Column& column(std::size_t index) const { return table_.columns[index]; }
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
    return table_.rows[row].at(column).text;
  }
  /// The columns of numbers, and those of states.
  [[nodiscard]] const std::vector<std::size_t>& numbers() const { return numbers_; }
  [[nodiscard]] const std::vector<std::size_t>& states() const { return states_; }

  /// Heading and text of each key that the row has. The unit of an answer is not part of it.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> question(std::size_t row) const;
  /// Whether all rows have the same text in the column; also if there is none.
  [[nodiscard]] bool is_constant(std::string_view heading) const;
  /// Unit of the row's numbers, as its column "unit" states it; empty without one.
  [[nodiscard]] std::string unit(std::size_t row) const;
  /// The quantity of a number. Units without a known name keep the text of the table.
  [[nodiscard]] Quantity quantity(std::size_t row, std::size_t column) const;
  /// The quantity in a column whose heading ends with its unit: {"t_iter", "seconds"} of
  /// "t_iter_s".
  [[nodiscard]] Quantity quantity_of(std::size_t column) const;

 private:
  const Table& table_;
  std::vector<std::size_t> keys_;
  std::vector<std::size_t> numbers_;
  std::vector<std::size_t> states_;
  std::optional<std::size_t> unit_;  ///< column of units
};

/// The table with a verdict or a number for every item; records may cover changes only.
const Table& tracked_records(const Document& document);

/// Whether a word is one of these headings, verdicts or statuses.
inline bool is_among(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace dlscale::report::format
