#include "report/format/column_meaning.hpp"

#include <array>

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

TrackedTable::TrackedTable(const Table& table) : table_(table) {
  EXPECT(std::ranges::count(table.columns, Meaning::undeclared, &Column::meaning) == 0);
  if (std::ranges::count(table.columns, Meaning::value_in_unit, &Column::meaning) > 0) {
    unit_ = column_of(table, "unit");
  }
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Meaning meaning = column(i).meaning;
    const bool is_number = meaning == Meaning::value || meaning == Meaning::value_in_unit;
    if (is_number) numbers_.push_back(i);
    if (meaning == Meaning::state) states_.push_back(i);
    if (meaning == Meaning::key && i != unit_) keys_.push_back(i);
  }
}

std::vector<std::pair<std::string, std::string>> TrackedTable::question(std::size_t row) const {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const std::size_t key : keys_) {
    if (!text(row, key).empty()) keys.emplace_back(column(key).heading, text(row, key));
  }
  return keys;
}

bool TrackedTable::is_constant(std::string_view heading) const {
  const auto column = column_of(table_, heading);
  return !column || std::ranges::all_of(table_.rows, [&](const auto& row) {
    return row.at(*column).text == table_.rows.front().at(*column).text;
  });
}

std::string TrackedTable::unit(std::size_t row) const {
  return unit_ ? text(row, *unit_) : "";
}

Quantity TrackedTable::quantity_of(std::size_t column) const {
  const std::string& heading = table_.columns[column].heading;
  const auto* const found = std::ranges::find_if(
      heading_units, [&](const UnitName& unit) { return heading.ends_with(unit.first); });
  if (found == heading_units.end()) return {heading, ""};
  std::string stem = heading.substr(0, heading.size() - found->first.size());
  while (stem.ends_with('_')) stem.pop_back();
  return {std::move(stem), std::string(found->second)};
}

Quantity TrackedTable::quantity(std::size_t row, std::size_t column) const {
  if (table_.columns[column].meaning == Meaning::value) return quantity_of(column);
  const std::string of_row = unit(row);
  const auto* const found = std::ranges::find(metric_units, of_row, &UnitName::first);
  return {table_.columns[column].heading,
          found == metric_units.end() ? of_row : std::string(found->second)};
}

const Table& tracked_records(const Document& document) {
  return document.verdicts.columns.empty() ? document.records : document.verdicts;
}

}  // namespace dlscale::report::format
