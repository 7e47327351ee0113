#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/base/error.hpp"
#include "core/base/printable.hpp"
#include "report/format/column_meaning.hpp"
#include "report/format/format.hpp"
#include "report/format/markdown.hpp"
#include "report/format/text_width.hpp"

namespace dlscale::report::format {
namespace {

/// A comment of a code host holds 65 536 characters; a text never has more characters than bytes.
/// The reserve closes the comment and names its kind.
constexpr std::size_t largest_comment = 65'536;
constexpr std::size_t kept_free = 512;
/// Bytes that open tables reserve for later ones, so that each can at least state its number of
/// rows.
constexpr std::size_t kept_for_others = 4096;
constexpr std::size_t longest_headline = 140;

/// Sorts by the size of cells such as "+3.2 %" in the column "change" or "change (+ = worse)".
void sort_by_change(Table& table) {
  const auto column = std::ranges::find_if(table.columns, [](const Column& each) {
    return each.heading == "change" || each.heading.starts_with("change ");
  });
  if (column == table.columns.end()) return;
  std::ranges::stable_sort(table.rows, std::greater{}, [&](const auto& row) {
    const Cell& cell = row.at(static_cast<std::size_t>(column - table.columns.begin()));
    return std::abs(std::strtod(cell.text.c_str(), nullptr));
  });
}

/// A judged table in two: the rows that changed, and the others. Notes follow the first that has
/// rows.
struct Parts {
  Table changed;
  Table other;
};

Parts parts_of(const Table& table, std::size_t verdict) {
  constexpr std::array<std::string_view, 3> changes{"regressed", "improved", "shifted"};
  Parts parts{{table.title, table.columns, {}, {}}, {table.title, table.columns, {}, {}}};
  for (const auto& row : table.rows) {
    (is_among(changes, row.at(verdict).text) ? parts.changed : parts.other).rows.push_back(row);
  }
  (parts.changed.rows.empty() ? parts.other : parts.changed).notes = table.notes;
  sort_by_change(parts.changed);
  sort_by_change(parts.other);
  return parts;
}

/// "12 unchanged, 3 inconclusive": the verdicts of a table, in order of appearance.
std::string counts(const Table& table, std::size_t verdict) {
  std::vector<std::string> words;
  for (const auto& row : table.rows) words.push_back(row.at(verdict).text);
  std::string text;
  std::set<std::string> seen;
  for (const std::string& word : words) {
    if (!seen.insert(word).second) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", std::ranges::count(words, word), word);
  }
  return text;
}

/// The table with as many rows as fit in `room` bytes and the number of rows left out; its notes if
/// it has no rows.
std::string fitted(Table table, std::size_t room) {
  const bool is_list = table.rows.empty();
  const std::size_t all = is_list ? table.notes.size() : table.rows.size();
  std::size_t fit = all;
  std::string text = markdown_table(table);
  while (text.size() > room && fit > 0) {
    fit = std::min(fit - 1, fit * room / text.size());
    if (is_list) {
      table.notes.resize(fit);
    } else {
      table.rows.resize(fit);
    }
    text = markdown_table(table) + fmt::format("\n{} more\n", all - fit);
  }
  return text.size() > room
             ? fmt::format("{} {} do not fit here\n", all, is_list ? "lines" : "rows")
             : text;
}

/// Appends what fits between two texts, and leaves `kept` bytes for what follows.
void append(const std::string& before, const Table& table, const std::string& after,
            std::size_t kept, std::string& comment) {
  const std::size_t used = comment.size() + before.size() + after.size() + kept;
  if (used < largest_comment) comment += before + fitted(table, largest_comment - used) + after;
}

std::string write_comment(const Document& document, const Terminal&) {
  std::string comment =
      fmt::format("<!-- dlscale -->\n{}\n",
                  escape_markdown(cut_to_width(printable(document.lead), longest_headline)));
  bool has_verdicts = column_of(document.records, "verdict") ||
                      column_of(document.verdicts, "verdict") || !document.cells.rows.empty();
  std::vector<std::pair<Table, std::size_t>> folded;
  for (const Table& table : document.tables) {
    const auto verdict = column_of(table, "verdict");
    if (!verdict) continue;
    has_verdicts = true;
    Parts parts = parts_of(table, *verdict);
    if (!parts.changed.rows.empty()) append("\n", parts.changed, "", kept_for_others, comment);
    if (!parts.other.rows.empty()) folded.emplace_back(std::move(parts.other), *verdict);
  }
  if (!has_verdicts) {
    throw ConfigError(fmt::format(
        "a {} has no verdicts, of which alone a comment on a pull request tells. Use the format "
        "markdown for all of its tables.",
        kind_of(document)));
  }
  for (auto& [table, verdict] : folded) {
    const std::string title = fmt::format("{}: {}", table.title, counts(table, verdict));
    table.title.clear();
    append(fmt::format("\n<details>\n<summary>{}</summary>\n\n", escape_markdown(title)), table,
           "\n</details>\n", kept_free, comment);
  }
  for (const Table& table : document.tables) {
    if (!column_of(table, "verdict")) append("\n", table, "", kept_for_others, comment);
  }
  return comment;
}

}  // namespace

extern const Format comment_format;
const Format comment_format{"comment", "a comment on a pull request: changes open, the rest folded",
                            write_comment};

}  // namespace dlscale::report::format
