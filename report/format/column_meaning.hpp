#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/table/table.hpp"

namespace dlscale::report::format {

// Knowledge about columns of records, for formats that track numbers from run to run.

/// A unit and its full name: "bytes_per_second".
struct UnitName {
  std::string_view unit;  ///< as the suffix of a heading: "_s" of "t_iter_s"
  std::string_view name;  ///< empty: a plain number
};

/// The unit that a heading ends with; nullptr without one.
const UnitName* unit_of_heading(std::string_view heading);
/// The unit of a metric as its column "unit" states it, "B/s"; nullptr if it has no name.
const UnitName* unit_of_metric(std::string_view unit);

/// The declared or known meaning of a column. Only numbers make a value: a column of words whose
/// name ends like a unit is a key.
Meaning meaning_of(const Table& table, std::size_t column);

/// Whether a word is one of these headings, verdicts or statuses.
bool is_among(std::span<const std::string_view> words, std::string_view word);

/// The whole text as a number; empty for any other text and for values that are not finite.
std::optional<double> finite_number(const std::string& text);

}  // namespace dlscale::report::format
