#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report::format {

/// Name of a number without its unit, and the full name of the unit: "bytes_per_second".
struct Quantity {
  std::string stem;
  std::string unit;  ///< empty: a plain number
};

/// The quantity in a column whose heading ends with its unit: {"t_iter", "seconds"} of "t_iter_s".
Quantity quantity_of(const std::string& heading);

/// Records for formats that track numbers from run to run: questions, and numbers that answer them.
class TrackedTable {
 public:
  /// The table must outlive this. Requires a declared meaning for every column: a number without
  /// one would silently be absent from the formats.
  explicit TrackedTable(const Table& table);

  [[nodiscard]] std::size_t rows() const { return table_.rows.size(); }
  [[nodiscard]] std::size_t columns() const { return table_.columns.size(); }
  [[nodiscard]] const std::string& heading(std::size_t column) const {
    return table_.columns[column].heading;
  }
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
    return table_.rows[row].at(column).text;
  }
  [[nodiscard]] const Column& column(std::size_t index) const { return table_.columns[index]; }
  [[nodiscard]] bool is_number(std::size_t column) const;
  [[nodiscard]] bool is_state(std::size_t column) const;
  /// Whether a column is part of the question; the unit of an answer is not.
  [[nodiscard]] bool is_key(std::size_t column) const;
  [[nodiscard]] bool has_numbers() const;
  /// Whether a column has a single value.
  [[nodiscard]] bool is_constant(std::size_t column) const;

  /// Unit of the row's numbers, as its column "unit" states it; empty without one.
  [[nodiscard]] std::string unit(std::size_t row) const;
  /// The quantity of a number. Units without a known name keep the text of the table.
  [[nodiscard]] Quantity quantity(std::size_t row, std::size_t column) const;

 private:
  const Table& table_;
  std::optional<std::size_t> unit_;  ///< column of units
};

/// The table with a verdict or a number for every item; records may cover changes only.
const Table& tracked_records(const Document& document);

/// Whether a word is one of these headings, verdicts or statuses.
bool is_among(std::span<const std::string_view> words, std::string_view word);

/// The whole text as a number; empty for any other text and for values that are not finite.
std::optional<double> finite_number(const std::string& text);

}  // namespace dlscale::report::format
