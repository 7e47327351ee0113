#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report::format {

// What formats that follow numbers from run to run know of a column of records.

/// A unit, and how it is called in full: "bytes_per_second".
struct UnitName {
  std::string_view unit;  ///< in a heading the end of it: "_s" of "t_iter_s"
  std::string_view name;  ///< empty: a plain number
};

/// The unit that a heading ends with; null without one.
const UnitName* unit_of_heading(std::string_view heading);
/// Of metrics, as a column "unit" tells it: "B/s"; null where it has no name.
const UnitName* unit_of_metric(std::string_view unit);

/// What was declared or is known of a column. Numbers alone make a value: a column of words whose
/// name ends like a unit is a key.
Meaning meaning_of(const Table& table, std::size_t column);

/// Whether a heading, a verdict or a status is one of those.
bool is_among(std::span<const std::string_view> words, std::string_view word);

/// The whole text as a number; nothing for any other text, and for what is not finite.
std::optional<double> finite_number(const std::string& text);

}  // namespace dlscale::report::format
