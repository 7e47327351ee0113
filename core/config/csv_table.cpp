#include "core/config/csv_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/file_kind.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

/// Upper limit: tables of this kind have a line per layer or measurement.
constexpr std::size_t most_lines = 100'000;
constexpr std::size_t most_line_bytes = 65'536;

std::string_view trimmed_cell(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// One quoted cell that starts at its opening quote `text[at]`; `at` moves behind its closing
/// quote. Nothing if it is not closed.
std::optional<std::string> quoted_cell(std::string_view text, std::size_t& at) {
  std::string cell;
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      cell += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '"') {
      cell += text[++at];
    } else {
      ++at;
      return cell;
    }
  }
  return std::nullopt;
}

std::vector<std::string> split(std::string_view line, const std::string& place) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  while (true) {
    at = std::min(line.find_first_not_of(" \t", at), line.size());
    const bool opens = at < line.size() && line[at] == '"';
    std::string cell;
    if (opens) {
      std::optional<std::string> inner = quoted_cell(line, at);
      const std::size_t end = std::min(line.find(',', at), line.size());
      if (!inner || !trimmed_cell(line.substr(at, end - at)).empty()) {
        throw ConfigError(fmt::format(
            "{}: a quoted cell does not end before the next comma. Close it with a double quote, "
            "and write \"\" for a quote within it.",
            place));
      }
      cell = *std::move(inner);
      at = end;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      cell = trimmed_cell(line.substr(at, end - at));
      at = end;
    }
    cells.push_back(std::move(cell));
    if (at == line.size()) return cells;
    ++at;
  }
}

bool is_passed_over(std::string_view line) {
  const std::string_view content = trimmed_cell(line);
  return content.empty() || content.front() == '#';
}

/// Refuses a header whose columns something else than a comma separates.
void expect_commas(const std::string& cell, const std::vector<std::string>& names,
                   const std::string& place) {
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}}) {
    std::istringstream stream(cell);
    int known = 0;
    int all = 0;
    for (std::string part; std::getline(stream, part, separator); ++all) {
      known += std::ranges::count(names, std::string(trimmed_cell(part))) > 0 ? 1 : 0;
    }
    if (all < 2 || known == 0) continue;
    throw ConfigError(fmt::format(
        "{}: {} separate the columns, and commas are needed. Save the table as CSV with "
        "commas, and with points in decimal numbers.",
        place, name));
  }
}

/// "1,234" or "12'345.6": digits with separators of thousands.
bool has_thousands(std::string_view text) {
  const auto is_separator = [](char letter) {
    return letter == ',' || letter == '\'' || letter == ' ' || letter == '_';
  };
  std::string digits(text);
  std::erase_if(digits, is_separator);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return digits.size() < text.size() && error == std::errc() &&
         end == digits.data() + digits.size();
}

/// Advice for a cell that is not a number.
std::string_view advice_on(std::string_view text) {
  return has_thousands(text) ? "Write it without separators of thousands, and with a decimal point"
                             : "Write one";
}

/// Refuses a column that has the name of a known one with another unit: "forward_ms".
void expect_unit(const std::string& column, const std::string& name, const std::string& place) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> units{
      {{"s", "seconds"}, {"bytes", "bytes"}}};
  constexpr std::array<std::string_view, 16> others{"ms",  "us",  "ns",   "msec",   "usec", "nsec",
                                                    "min", "sec", "kb",   "mb",     "gb",   "kib",
                                                    "mib", "gib", "bits", "seconds"};
  const std::size_t end = name.rfind('_') + 1;
  if (end == 0 || !column.starts_with(name.substr(0, end))) return;
  const auto* const unit = std::ranges::find(units, std::string_view(name).substr(end),
                                             &std::pair<std::string_view, std::string_view>::first);
  std::string other = column.substr(end);
  std::ranges::transform(other, other.begin(), [](unsigned char one) { return std::tolower(one); });
  if (unit == units.end() || std::ranges::find(others, other) == others.end()) return;
  throw ConfigError(
      fmt::format("{}: the column \"{}\" must be {}, in {}. Convert its numbers to {}, and "
                  "name it so.",
                  place, column, name, unit->second, unit->second));
}

std::vector<std::string> names_of(std::span<const CsvColumn> columns) {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns) names.emplace_back(column.name);
  return names;
}

}  // namespace

CsvTable::CsvTable(const fs::path& path, std::string_view what, std::span<const CsvColumn> known)
    : path_(path.string()) {
  refuse_other_kind(path, FileKind::table);
  std::string text = read_input(path, fmt::format("Name a CSV file of {} (columns: {}).", what,
                                                  fmt::join(names_of(known), ", ")));
  // Spreadsheets for the Macintosh end lines so.
  if (text.find('\n') == std::string::npos) std::ranges::replace(text, '\r', '\n');
  std::istringstream stream(std::move(text));
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const std::string place = fmt::format("{}:{}", path_, number);
    if (number > most_lines || line.size() > most_line_bytes) {
      throw ConfigError(
          fmt::format("{}: a table of {} has at most {} lines of {} bytes. Name one that has.",
                      place, what, most_lines, most_line_bytes));
    }
    if (is_passed_over(line)) continue;
    Row row{number, split(line, place)};
    if (columns_.empty()) {
      read_header(std::move(row), what, known);
      continue;
    }
    if (row.cells.size() != columns_.size()) {
      throw ConfigError(
          fmt::format("{}: the line has {} cells, and the header names {} columns, so that it is "
                      "not sure which is which. Write one cell a column, and numbers without "
                      "separators of thousands.",
                      place, row.cells.size(), columns_.size()));
    }
    rows_.push_back(std::move(row));
  }
  if (columns_.empty() || rows_.empty()) {
    throw ConfigError(
        fmt::format("{} holds no {}. Write a header line with the columns {}, and a line for each.",
                    path_, what, fmt::join(names_of(known), ", ")));
  }
}

void CsvTable::read_header(Row header, std::string_view what, std::span<const CsvColumn> known) {
  const std::string place = fmt::format("{}:{}", path_, header.line);
  columns_ = std::move(header.cells);
  const std::vector<std::string> names = names_of(known);
  if (columns_.size() == 1) expect_commas(columns_.front(), names, place);
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [this](const std::string& name) { return !has(name); });
  for (auto column = columns_.begin(); column != columns_.end(); ++column) {
    const bool is_known = std::ranges::find(names, *column) != names.end();
    if (is_known && std::find(columns_.begin(), column, *column) != column) {
      throw ConfigError(
          fmt::format("{}: the column {} is there twice. Leave one of them.", place, *column));
    }
    if (is_known) continue;
    for (const std::string& name : missing) {
      expect_unit(*column, name, place);
      if (edit_distance(*column, name) > 2) continue;
      throw ConfigError(fmt::format("{}: \"{}\" is not a column of {}. {}", place,
                                    escape_for_terminal(*column), what,
                                    suggestion(*column, names)));
    }
  }
  for (const CsvColumn& column : known) {
    if (!column.required || has(column.name)) continue;
    throw ConfigError(fmt::format("{}: the header lacks the column {}, which {} need. Columns: {}.",
                                  place, column.name, what, fmt::join(names, ", ")));
  }
}

bool CsvTable::has(std::string_view column) const {
  return std::ranges::find(columns_, column) != columns_.end();
}

const std::string& CsvTable::cell(std::size_t row, std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  EXPECT(found != columns_.end());
  return rows_.at(row).cells[static_cast<std::size_t>(found - columns_.begin())];
}

std::string CsvTable::place(std::size_t row) const {
  return fmt::format("{}:{}", path_, rows_.at(row).line);
}

std::string CsvTable::text(std::size_t row, std::string_view column) const {
  const std::string& text = cell(row, column);
  if (text.empty()) {
    throw ConfigError(
        fmt::format("{}: the column {} is empty. Write what it is.", place(row), column));
  }
  return text;
}

double CsvTable::number(std::size_t row, std::string_view column, double most) const {
  const std::string& text = cell(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || !std::isfinite(value) || value < 0 || value > most) {
    throw ConfigError(
        fmt::format("{}: the column {} is \"{}\", which is not a number from 0 to {:g}. {}, "
                    "without a unit: the name of the column says it.",
                    place(row), column, escape_for_terminal(text), most, advice_on(text)));
  }
  return value;
}

int CsvTable::count(std::size_t row, std::string_view column, int most) const {
  const std::string& text = cell(row, column);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || value < 1 || value > most) {
    throw ConfigError(
        fmt::format("{}: the column {} is \"{}\", which is not a whole number from 1 to {}. Write "
                    "how many there are.",
                    place(row), column, escape_for_terminal(text), most));
  }
  return value;
}

}  // namespace dlscale
