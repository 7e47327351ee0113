#include "regression/import/osu_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/import/table_log.hpp"

namespace dlscale::regression::history {
namespace {

constexpr std::array osu_quantities{
    OsuQuantity{"Latency (us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Latency(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Overall(us)", "time", "s", Direction::smaller_is_better, 1e-6},
    OsuQuantity{"Bandwidth (MB/s)", "bandwidth", "B/s", Direction::larger_is_better, 1e6},
    OsuQuantity{"MB/s", "bandwidth", "B/s", Direction::larger_is_better, 1e6},
    OsuQuantity{"Messages/s", "message_rate", "1/s", Direction::larger_is_better, 1}};

constexpr std::string_view size_heading = "Size";
constexpr std::string_view verdict_heading = "Validation";
constexpr std::string_view count_heading = "Iterations";
constexpr std::string_view transmitted_heading = "Transmit Size";

/// The quantity of a heading such as "Avg Latency(us)"; nullptr for any other.
const OsuQuantity* quantity_of(std::string_view heading) {
  const auto* const found = std::ranges::find_if(osu_quantities, [&](const OsuQuantity& known) {
    if (!heading.ends_with(known.heading)) return false;
    const std::size_t before = heading.size() - known.heading.size();
    return before == 0 || heading[before - 1] == ' ';
  });
  return found == osu_quantities.end() ? nullptr : found;
}

/// Whether a heading ends here although only one blank follows, as where a tool joined blanks.
bool is_whole_heading(std::string_view heading) {
  return heading == size_heading || heading == verdict_heading || heading == count_heading ||
         heading.ends_with(')') || heading.ends_with("/s");
}

/// "# Size       Avg Latency(us)" has two.
std::vector<std::string> headings_of(std::string_view line) {
  std::vector<std::string> headings;
  std::size_t gap = 2;
  if (line.starts_with('#')) line.remove_prefix(1);
  for (const char letter : line) {
    if (std::isspace(static_cast<unsigned char>(letter)) != 0) {
      gap += letter == '\t' ? 2 : 1;
      continue;
    }
    const bool begins = gap > 1 || (gap == 1 && is_whole_heading(headings.back()));
    if (begins) {
      headings.emplace_back();
    } else if (gap == 1) {
      headings.back() += ' ';
    }
    headings.back() += letter;
    gap = 0;
  }
  return headings;
}

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low;
}

}  // namespace

bool OsuTable::has_headings(std::string_view line) {
  if (!line.starts_with('#')) return false;
  const std::vector<std::string> headings = headings_of(line);
  if (headings.empty()) return false;
  const std::string& first = headings.front();
  return first == size_heading || first.starts_with("Operation") || quantity_of(first) != nullptr;
}

bool OsuTable::has_bare_headings(std::string_view line) {
  const std::vector<std::string> headings = headings_of(line);
  return !headings.empty() && quantity_of(headings.front()) != nullptr;
}

std::optional<OsuTable> OsuTable::of(std::string_view headings) {
  OsuTable table;
  table.headings_ = headings_of(headings);
  if (table.headings_.empty() || table.headings_.front().starts_with("Operation")) {
    return std::nullopt;
  }
  table.has_sizes_ = table.headings_.front() == size_heading;
  const auto found = std::ranges::find_if(
      table.headings_, [](const std::string& heading) { return quantity_of(heading) != nullptr; });
  if (found == table.headings_.end()) return std::nullopt;
  table.quantity_ = quantity_of(*found);
  table.value_ = static_cast<std::size_t>(found - table.headings_.begin());
  return table;
}

/// Throws ConfigError unless the column of validations lets the row count. Sizes may be skipped.
void OsuTable::expect_validity(const std::vector<std::string>& words,
                               const std::string& row) const {
  const auto column = std::ranges::find(headings_, verdict_heading);
  if (column == headings_.end()) return;
  const std::string verdict = lower(words[static_cast<std::size_t>(column - headings_.begin())]);
  if (verdict.starts_with("fail")) throw ConfigError(row + " failed the validation");
  if (verdict != "pass" && verdict != "skipped") {
    throw ConfigError(row + " lacks the result of its validation");
  }
}

/// Throws ConfigError unless each cell is what its heading says: a garbled one makes the whole row
/// doubtful.
void OsuTable::expect_numbers(const std::vector<std::string>& words) const {
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    const std::string& heading = headings_[i];
    if (heading == verdict_heading) continue;
    const bool is_count =
        heading == size_heading || heading == count_heading || heading == transmitted_heading;
    if (!is_count) {
      (void)printed_number(words[i], escape_for_terminal(heading));
    } else if (!is_whole_number(words[i])) {
      throw ConfigError(fmt::format("\"{}\" in column {} is not a whole number",
                                    escape_for_terminal(words[i]), heading));
    }
  }
}

OsuRow OsuTable::row(const std::vector<std::string>& words) const {
  if (words.size() != headings_.size()) throw wrong_columns(words.size(), headings_.size());
  OsuRow row;
  if (has_sizes_) row.size = words.front();
  row.name = has_sizes_ ? escape_for_terminal(row.size) + " B" : "the row";
  expect_numbers(words);
  expect_validity(words, row.name);
  const std::string& value = words[value_];
  row.value = printed_number(value, headings_[value_]) * quantity_->scale;
  if (!(row.value > 0) || !std::isfinite(row.value)) {
    throw ConfigError(fmt::format("{} with {} {}, which nothing measured can be", row.name,
                                  headings_[value_], value));
  }
  row.rounding = printed_rounding(value) * quantity_->scale;
  if (value_ + 1 == words.size()) row.last_value = value;
  if (const auto transmitted = std::ranges::find(headings_, transmitted_heading);
      transmitted != headings_.end()) {
    row.transmitted = words[static_cast<std::size_t>(transmitted - headings_.begin())];
  }
  return row;
}

bool OsuTable::ends_with_row(const std::vector<std::string>& words) const {
  if (words.size() < headings_.size()) return false;
  const auto first = words.end() - static_cast<std::ptrdiff_t>(headings_.size());
  const std::string& value = *std::next(first, static_cast<std::ptrdiff_t>(value_));
  const bool is_value = value.find('.') != std::string::npos &&
                        value.find_first_not_of("0123456789.") == std::string::npos;
  return is_value && (!has_sizes_ || std::isdigit(static_cast<unsigned char>(first->back())) != 0);
}

}  // namespace dlscale::regression::history
