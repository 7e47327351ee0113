#include "report/format/column_meaning.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

using UnitName = std::pair<std::string_view, std::string_view>;

/// Full names of units at the end of headings. Longest first.
constexpr std::array<UnitName, 7> heading_units{{{"bytes_per_s", "bytes_per_second"},
                                                 {"flops_per_s", "flops_per_second"},
                                                 {"images_per_s", "images_per_second"},
                                                 {"_per_s", "per_second"},
                                                 {"_bytes", "bytes"},
                                                 {"_flops", "flops"},
                                                 {"_s", "seconds"}}};

/// Full names of units in the column "unit"; a plain number has an empty one.
constexpr std::array<UnitName, 7> metric_units{{{"s", "seconds"},
                                                {"B", "bytes"},
                                                {"B/s", "bytes_per_second"},
                                                {"FLOP/s", "flops_per_second"},
                                                {"1/s", "per_second"},
                                                {"images/s", "images_per_second"},
                                                {"1", ""}}};

}  // namespace

Quantity quantity_of(const std::string& heading) {
  const auto* const found = std::ranges::find_if(
      heading_units, [&](const UnitName& unit) { return heading.ends_with(unit.first); });
  if (found == heading_units.end()) return {heading, ""};
  std::string stem = heading.substr(0, heading.size() - found->first.size());
  while (stem.ends_with('_')) stem.pop_back();
  return {std::move(stem), std::string(found->second)};
}

TrackedTable::TrackedTable(const Table& table) : table_(table) {
  EXPECT(std::ranges::count(table.columns, Meaning::undeclared, &Column::meaning) == 0);
  if (std::ranges::count(table.columns, Meaning::value_in_unit, &Column::meaning) > 0) {
    unit_ = column_of(table, "unit");
  }
}

bool TrackedTable::is_number(std::size_t column) const {
  const Meaning meaning = table_.columns[column].meaning;
  return meaning == Meaning::value || meaning == Meaning::value_in_unit;
}

bool TrackedTable::is_state(std::size_t column) const {
  return table_.columns[column].meaning == Meaning::state;
}

bool TrackedTable::is_key(std::size_t column) const {
  return table_.columns[column].meaning == Meaning::key && column != unit_;
}

bool TrackedTable::has_numbers() const {
  for (std::size_t i = 0; i < columns(); ++i) {
    if (is_number(i)) return true;
  }
  return false;
}

bool TrackedTable::is_constant(std::size_t column) const {
  return std::ranges::all_of(table_.rows, [&](const auto& row) {
    return row.at(column).text == table_.rows.front().at(column).text;
  });
}

std::string TrackedTable::unit(std::size_t row) const {
  return unit_ ? text(row, *unit_) : "";
}

Quantity TrackedTable::quantity(std::size_t row, std::size_t column) const {
  if (table_.columns[column].meaning == Meaning::value) return quantity_of(heading(column));
  const std::string of_row = unit(row);
  const auto* const found = std::ranges::find(metric_units, of_row, &UnitName::first);
  return {heading(column), found == metric_units.end() ? of_row : std::string(found->second)};
}

const Table& tracked_records(const Document& document) {
  return document.verdicts.columns.empty() ? document.records : document.verdicts;
}

bool is_among(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::optional<double> finite_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace dlscale::report::format
