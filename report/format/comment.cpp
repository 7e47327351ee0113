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
#include "core/text/numbers.hpp"
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

/// Lines that a reader sees without opening anything: 40 less what a recipe of CI adds, which are
/// the origin, what the machine can show, whether it is advice only, and a picture.
constexpr std::size_t most_open_lines = 36;
/// Notes that stay open below a table even if they take the place of rows.
constexpr std::size_t most_open_notes = 5;
/// Lines of an open table besides its rows and notes: title, headings and their rule.
constexpr std::size_t lines_of_headings = 3;

/// Sorts what regressed first, and else by the size of cells such as "+3.2 %" in the column
/// "change" or "change (+ = worse)".
void sort_by_change(Table& table, std::size_t verdict) {
  const auto column = std::ranges::find_if(table.columns, [](const Column& each) {
    return each.heading == "change" || each.heading.starts_with("change ");
  });
  if (column == table.columns.end()) return;
  const auto change = static_cast<std::size_t>(column - table.columns.begin());
  std::ranges::stable_sort(table.rows, std::greater{}, [&](const auto& row) {
    return std::pair(row.at(verdict).text == "regressed",
                     std::abs(std::strtod(row.at(change).text.c_str(), nullptr)));
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
  sort_by_change(parts.changed, verdict);
  sort_by_change(parts.other, verdict);
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

std::string grouped_count(std::size_t count) {
  return grouped(static_cast<long long>(count));
}

/// The table with as many rows as fit in `room` bytes and the number of rows left out; its notes if
/// it has no rows.
std::string fitted(Table table, std::size_t room) {
  constexpr const char* where = "the page of this report lists all";
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
    text = markdown_table(table) + fmt::format("\n{} more: {}\n", grouped_count(all - fit), where);
  }
  return text.size() > room ? fmt::format("{} {} do not fit here: {}\n", grouped_count(all),
                                          is_list ? "lines" : "rows", where)
                            : text;
}

/// Appends what fits between two texts, and leaves `kept` bytes for what follows.
void append(const std::string& before, const Table& table, const std::string& after,
            std::size_t kept, std::string& comment) {
  const std::size_t used = comment.size() + before.size() + after.size() + kept;
  if (used < largest_comment) comment += before + fitted(table, largest_comment - used) + after;
}

std::size_t lines_of(const Table& table) {
  return lines_of_headings + table.rows.size() + table.notes.size();
}

/// A comment in the making, and the lines that readers see of it.
struct Comment {
  std::string text;
  std::size_t open_lines = 1;  ///< the headline
  std::size_t kept_lines = 0;  ///< a summary for each table that follows
  std::vector<std::pair<std::string, Table>> folded;

  [[nodiscard]] std::size_t room() const {
    const std::size_t used = open_lines + kept_lines;
    return used < most_open_lines ? most_open_lines - used : 0;
  }
  void open(const Table& table) {
    append("\n", table, "", kept_for_others, text);
    open_lines += lines_of(table);
  }
  void fold(std::string title, Table table) {
    table.title.clear();
    folded.emplace_back(std::move(title), std::move(table));
    ++open_lines;  // its summary
  }
};

/// Takes the notes of a table that leave no room for its rows: a comparison of many repeats has one
/// on each interval.
std::vector<std::string> long_notes(const Comment& comment, Table& table) {
  if (table.notes.size() <= most_open_notes || lines_of(table) <= comment.room()) return {};
  return std::exchange(table.notes, {});
}

/// Shows as many of the rows that changed as there is room for, and folds the others.
void add_judged(Comment& comment, const Table& table, std::size_t verdict) {
  Parts parts = parts_of(table, verdict);
  if (!parts.changed.rows.empty()) {
    std::vector<std::string> notes = long_notes(comment, parts.changed);
    Table rest{parts.changed.title, parts.changed.columns, {}, {}};
    const std::size_t besides = lines_of_headings + parts.changed.notes.size() + 3;
    const std::size_t room =
        std::max<std::size_t>(1, comment.room() > besides ? comment.room() - besides : 0);
    if (parts.changed.rows.size() > room) {
      const auto first = parts.changed.rows.begin() + static_cast<std::ptrdiff_t>(room);
      rest.rows.assign(first, parts.changed.rows.end());
      parts.changed.rows.erase(first, parts.changed.rows.end());
    }
    comment.open(parts.changed);
    if (!rest.rows.empty()) {
      comment.fold(fmt::format("{} more: {}", table.title, counts(rest, verdict)), std::move(rest));
    }
    if (!notes.empty()) {
      comment.fold(fmt::format("{}: {} notes", table.title, notes.size()),
                   {"", {}, {}, std::move(notes)});
    }
  }
  if (!parts.other.rows.empty()) {
    const std::string title = fmt::format("{}: {}", table.title, counts(parts.other, verdict));
    comment.fold(title, std::move(parts.other));
  }
}

/// What has no verdicts stays open if there is room.
void add_other(Comment& comment, const Table& table) {
  if (lines_of(table) <= comment.room()) {
    comment.open(table);
  } else {
    comment.fold(table.title, table);
  }
}

std::string write_comment(const Document& document, const Terminal&) {
  const auto is_judged = [](const Table& table) { return column_of(table, "verdict").has_value(); };
  if (!is_judged(document.records) && !is_judged(document.verdicts) &&
      document.cells.rows.empty() && std::ranges::none_of(document.tables, is_judged)) {
    throw ConfigError(fmt::format(
        "a {} has no verdicts, of which alone a comment on a pull request tells. Use the format "
        "markdown for all of its tables.",
        kind_of(document)));
  }
  Comment comment;
  comment.text =
      fmt::format("<!-- dlscale -->\n{}\n",
                  escape_markdown(cut_to_width(printable(document.lead), longest_headline)));
  comment.kept_lines =
      static_cast<std::size_t>(std::ranges::count_if(document.tables, std::not_fn(is_judged)));
  for (const Table& table : document.tables) {
    if (const auto verdict = column_of(table, "verdict")) add_judged(comment, table, *verdict);
  }
  for (const Table& table : document.tables) {
    if (is_judged(table)) continue;
    --comment.kept_lines;
    add_other(comment, table);
  }
  for (const auto& [title, table] : comment.folded) {
    append(fmt::format("\n<details>\n<summary>{}</summary>\n\n", escape_markdown(title)), table,
           "\n</details>\n", kept_free, comment.text);
  }
  return comment.text;
}

}  // namespace

extern const Format comment_format;
const Format comment_format{"comment", "a comment on a pull request: changes open, the rest folded",
                            write_comment};

}  // namespace dlscale::report::format
