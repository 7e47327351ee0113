#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"
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

/// Size of the change in a cell such as "+3.2 %"; 0 if it has none.
double size_of_change(const std::string& text) {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto result = std::from_chars(begin, text.data() + text.size(), value);
  return result.ec == std::errc{} ? std::abs(value) : 0;
}

/// "change" or "change (+ = worse)", but not "changed".
std::optional<std::size_t> change_column(const Table& table) {
  const auto is_it = [](const Column& column) {
    return column.heading == "change" || column.heading.starts_with("change ");
  };
  const auto found = std::ranges::find_if(table.columns, is_it);
  if (found == table.columns.end()) return {};
  return static_cast<std::size_t>(found - table.columns.begin());
}

bool is_change(const std::string& verdict) {
  return verdict == "regressed" || verdict == "improved" || verdict == "shifted";
}

enum class Rows { changed, other };

/// The rows of a table that changed or that did not, largest change first. Notes follow the first
/// non-empty part.
Table part_of(const Table& table, std::size_t verdict, Rows rows) {
  const bool changes = rows == Rows::changed;
  Table part{table.title, table.columns, {}, {}};
  for (const auto& row : table.rows) {
    if (is_change(row.at(verdict).text) == changes) part.rows.push_back(row);
  }
  if (changes || part.rows.size() == table.rows.size()) part.notes = table.notes;
  if (const auto change = change_column(table)) {
    std::ranges::stable_sort(part.rows, std::greater{}, [change](const auto& row) {
      return size_of_change(row.at(*change).text);
    });
  }
  return part;
}

/// "12 unchanged, 3 inconclusive": the verdicts of a table, in order of appearance.
std::string counts(const Table& table, std::size_t verdict) {
  std::vector<std::pair<std::string, int>> words;
  for (const auto& row : table.rows) {
    const std::string& word = row.at(verdict).text;
    auto found = std::ranges::find(words, word, &std::pair<std::string, int>::first);
    if (found == words.end()) found = words.emplace(found, word, 0);
    ++found->second;
  }
  std::string text;
  for (const auto& [word, count] : words) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
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

class Comment {
 public:
  explicit Comment(const std::string& lead)
      : text_(fmt::format("<!-- dlscale -->\n{}\n",
                          escape_markdown(shortened(valid_utf8(lead), longest_headline)))) {}

  void append(const Table& table) { append_within("\n", table, "", kept_for_others); }

  void append_folded(Table table, std::size_t verdict) {
    const std::string title = fmt::format("{}: {}", table.title, counts(table, verdict));
    table.title.clear();
    append_within(fmt::format("\n<details>\n<summary>{}</summary>\n\n", escape_markdown(title)),
                  table, "\n</details>\n", kept_free);
  }

  [[nodiscard]] std::string text() const { return text_; }

 private:
  void append_within(const std::string& before, const Table& table, const std::string& after,
                     std::size_t kept) {
    const std::size_t used = text_.size() + before.size() + after.size() + kept;
    if (used >= largest_comment) return;
    text_ += before + fitted(table, largest_comment - used) + after;
  }

  std::string text_;
};

ConfigError nothing_compared(const Document& document) {
  return ConfigError(fmt::format(
      "a {} has no verdicts, of which alone a comment on a pull request tells. Use the format "
      "markdown for all of its tables.",
      kind_of(document)));
}

std::string write_comment(const Document& document, const Terminal&) {
  Comment comment(document.lead);
  std::vector<std::pair<const Table*, std::size_t>> judged;
  for (const Table& table : document.tables) {
    if (const auto verdict = column_of(table, "verdict")) judged.emplace_back(&table, *verdict);
  }
  const bool has_verdicts = !judged.empty() || column_of(document.records, "verdict") ||
                            column_of(document.verdicts, "verdict");
  if (!has_verdicts && document.cells.rows.empty()) {
    throw nothing_compared(document);
  }
  for (const auto& [table, verdict] : judged) {
    const Table part = part_of(*table, verdict, Rows::changed);
    if (!part.rows.empty()) comment.append(part);
  }
  for (const auto& [table, verdict] : judged) {
    Table part = part_of(*table, verdict, Rows::other);
    if (!part.rows.empty()) comment.append_folded(std::move(part), verdict);
  }
  for (const Table& table : document.tables) {
    if (!column_of(table, "verdict")) comment.append(table);
  }
  return comment.text();
}

}  // namespace

extern const Format comment_format;
const Format comment_format{"comment", "a comment on a pull request: changes open, the rest folded",
                            write_comment};

}  // namespace dlscale::report::format
