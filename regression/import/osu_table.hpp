#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regression/statistics/metric.hpp"

namespace dlscale::regression::history {

/// The quantity of a column of numbers.
struct OsuQuantity {
  std::string_view heading;
  const char* metric;
  const char* unit;
  Direction direction;
  double scale;  ///< SI units of 1 in the column
};

/// A row of a table of OSU's benchmarks.
struct OsuRow {
  std::string name;  ///< "8 B", or "the row" in a table without sizes
  std::string size;  ///< bytes; empty in a table without sizes
  double value = 0;  ///< of the quantity, in SI units
  double rounding = 0;
  std::string last_value;   ///< the value as printed if nothing follows it, else empty
  std::string transmitted;  ///< size of derived types; empty: not stated
};

/// Headings of a table of OSU's benchmarks; they locate the columns of any version. The first
/// column of a known quantity counts.
class OsuTable {
 public:
  /// Whether a line is the comment with the headings.
  static bool has_headings(std::string_view line);
  /// Whether the line begins with the heading of a known quantity. Barriers of versions before 7
  /// have headings without a mark.
  static bool has_bare_headings(std::string_view line);
  /// Nothing for headings without a known quantity of each size.
  static std::optional<OsuTable> of(std::string_view headings);

  [[nodiscard]] const OsuQuantity& quantity() const { return *quantity_; }
  /// Throws ConfigError if the words of a row do not fit the headings, or if it failed its
  /// validation.
  [[nodiscard]] OsuRow row(const std::vector<std::string>& words) const;
  /// Whether the last words are the numbers of a row, whose first may be glued to other text.
  [[nodiscard]] bool ends_with_row(const std::vector<std::string>& words) const;

 private:
  OsuTable() = default;
  void expect_validity(const std::vector<std::string>& words, const std::string& row) const;
  void expect_numbers(const std::vector<std::string>& words) const;

  std::vector<std::string> headings_;
  const OsuQuantity* quantity_ = nullptr;
  std::size_t value_ = 0;  ///< the column of the quantity
  bool has_sizes_ = true;
};

}  // namespace dlscale::regression::history
