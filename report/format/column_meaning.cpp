#include "report/format/column_meaning.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace dlscale::report::format {
namespace {

/// OpenMetrics wants full names of base units. Longest first.
constexpr std::array<UnitName, 7> heading_units{{{"bytes_per_s", "bytes_per_second"},
                                                 {"flops_per_s", "flops_per_second"},
                                                 {"images_per_s", "images_per_second"},
                                                 {"_per_s", "per_second"},
                                                 {"_bytes", "bytes"},
                                                 {"_flops", "flops"},
                                                 {"_s", "seconds"}}};

/// A plain number has an empty name.
constexpr std::array<UnitName, 7> metric_units{{{"s", "seconds"},
                                                {"B", "bytes"},
                                                {"B/s", "bytes_per_second"},
                                                {"FLOP/s", "flops_per_second"},
                                                {"1/s", "per_second"},
                                                {"images/s", "images_per_second"},
                                                {"1", ""}}};

// Undeclared columns whose headings mean the same in all documents.
constexpr std::array<std::string_view, 10> plain_values{
    "ratio",      "ratio_low", "ratio_high", "max_relative_error", "speedup",
    "efficiency", "error",     "bias",       "median_abs",         "ratio_to_first"};
constexpr std::array<std::string_view, 2> state_headings{"verdict", "status"};
constexpr std::array<std::string_view, 1> remarks{"reason"};

/// Whether a column has at least one number, and otherwise only numbers and empty texts.
bool has_numbers(const Table& table, std::size_t column) {
  bool any = false;
  for (const auto& row : table.rows) {
    if (row.at(column).text.empty()) continue;
    if (!finite_number(row.at(column).text)) return false;
    any = true;
  }
  return any;
}

}  // namespace

const UnitName* unit_of_heading(std::string_view heading) {
  const auto* const found = std::ranges::find_if(
      heading_units, [heading](const UnitName& unit) { return heading.ends_with(unit.unit); });
  return found == heading_units.end() ? nullptr : found;
}

const UnitName* unit_of_metric(std::string_view unit) {
  const auto* const found = std::ranges::find(metric_units, unit, &UnitName::unit);
  return found == metric_units.end() ? nullptr : found;
}

Meaning meaning_of(const Table& table, std::size_t column) {
  const Column& it = table.columns.at(column);
  if (it.meaning != Meaning::by_name) return it.meaning;
  if (is_among(state_headings, it.heading)) return Meaning::state;
  if (is_among(remarks, it.heading)) return Meaning::remark;
  const bool is_value =
      unit_of_heading(it.heading) != nullptr || is_among(plain_values, it.heading);
  return is_value && has_numbers(table, column) ? Meaning::value : Meaning::key;
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
