#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/display_width.hpp"
#include "core/base/printable.hpp"
#include "core/text/numbers.hpp"
#include "report/format/curve_text.hpp"
#include "report/format/format.hpp"
#include "report/format/text_width.hpp"

namespace dlscale::report::format {
namespace {

std::string_view colour_code(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::good:
      return "\033[32m";
    case Tone::caution:
      return "\033[33m";
    case Tone::bad:
      return "\033[31m";
  }
  return "";
}

/// Blanks before the further lines of a note.
constexpr std::size_t indent = 4;

/// The spare columns that a table leaves out to fit lines of `most`, from left to right.
std::vector<std::size_t> columns_left_out(const Table& table,
                                          const std::vector<std::size_t>& widths,
                                          std::size_t most) {
  std::vector<std::size_t> spare;
  std::size_t width = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    width += widths[i] + (i > 0 ? 2 : 0);
    if (table.columns[i].spare > 0) spare.push_back(i);
  }
  std::ranges::stable_sort(spare, std::ranges::greater(),
                           [&](std::size_t i) { return table.columns[i].spare; });
  std::size_t left_out = 0;
  for (; left_out < spare.size() && width > most; ++left_out) {
    width -= widths[spare[left_out]] + 2;
  }
  spare.resize(left_out);
  std::ranges::sort(spare);
  return spare;
}

/// The table without these columns, and with a note on them.
Table without_columns(Table table, const std::vector<std::size_t>& columns) {
  if (columns.empty()) return table;
  std::vector<std::string> headings;
  for (const std::size_t i : columns) headings.push_back(table.columns[i].heading);
  table.notes.push_back(fmt::format("left out for their width: {} (the format markdown has them)",
                                    fmt::join(headings, ", ")));
  const auto drop = [&](auto& list) {
    for (auto i = columns.rbegin(); i != columns.rend(); ++i) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(*i));
    }
  };
  drop(table.columns);
  for (auto& row : table.rows) drop(row);
  return table;
}

std::string said_of(std::size_t shown, std::size_t all, const char* what) {
  return fmt::format("{} of {} {} are shown; the format markdown has all", shown,
                     grouped(static_cast<long long>(all)), what);
}

/// The rows of a table that limits them, or the first lines of a list, and how many there are.
Table shown_rows(Table table) {
  const bool is_list = table.columns.empty();
  const std::size_t all = is_list ? table.notes.size() : table.rows.size();
  const std::size_t most = table.most_shown > 0 ? table.most_shown : all;
  if (is_list && all > most) {
    table.notes.resize(most);
    table.notes.push_back(said_of(most, all, "lines"));
  }
  if (is_list || (table.shown.empty() && all <= most)) return table;
  std::vector<std::vector<Cell>> rows;
  for (const std::size_t row : table.shown) rows.push_back(std::move(table.rows.at(row)));
  if (table.shown.empty()) {
    table.rows.resize(most);
  } else {
    table.rows = std::move(rows);
  }
  table.notes.insert(table.notes.begin(), said_of(table.rows.size(), all, "rows"));
  return table;
}

/// A ratio stays beside the column that it is of.
bool is_ratio(const Column& column) {
  return column.heading.starts_with("÷");
}

/// The columns that name the rows: each tells more of them apart than those before it do.
std::vector<std::size_t> naming_columns(const Table& table) {
  std::vector<std::size_t> columns;
  std::vector<std::string> names(table.rows.size());
  std::size_t told_apart = 0;
  for (std::size_t i = 0; i < table.columns.size() && told_apart < names.size(); ++i) {
    std::vector<std::string> more = names;
    for (std::size_t row = 0; row < more.size(); ++row)
      more[row] += table.rows[row].at(i).text + "\n";
    const std::size_t apart = std::set<std::string_view>(more.begin(), more.end()).size();
    if (apart <= told_apart) continue;
    columns.push_back(i);
    names = std::move(more);
    told_apart = apart;
  }
  if (columns.size() > table.columns.size() / 2) columns = {0};
  return columns;
}

Table with_columns(const Table& table, const std::vector<std::size_t>& columns) {
  Table part;
  for (const std::size_t i : columns) part.columns.push_back(table.columns[i]);
  for (const auto& row : table.rows) {
    std::vector<Cell>& cells = part.rows.emplace_back();
    for (const std::size_t i : columns) cells.push_back(row.at(i));
  }
  return part;
}

/// Prints tables with columns as wide as their widest cell, two spaces apart.
class TextTables {
 public:
  explicit TextTables(const Terminal& terminal) : terminal_(terminal) {}

  [[nodiscard]] std::string show(std::string_view text) const {
    const std::string clean = printable(text);
    return terminal_.charset == Charset::ascii ? to_ascii(clean) : clean;
  }

  [[nodiscard]] std::string print(const Table& whole) const {
    const Table some = shown_rows(whole);
    const Table table =
        without_columns(some, columns_left_out(some, column_widths(some), terminal_.width));
    std::string out;
    if (!table.title.empty()) out += wrapped(show(table.title), terminal_.width, 0) + "\n\n";
    if (!table.rows.empty()) out += grids(table);
    for (const std::string& note : table.notes) {
      out += wrapped("  " + show(note), terminal_.width - indent, indent) + "\n";
    }
    return out;
  }

 private:
  /// The lines of a cell.
  struct CellLines {
    std::vector<std::string> lines;
    Tone tone = Tone::plain;
  };
  using RowLines = std::vector<CellLines>;

  [[nodiscard]] std::size_t widest_cell(const Table& table, std::size_t column) const {
    std::size_t width = 0;
    for (const auto& row : table.rows) {
      width = std::max(width, display_width(show(row.at(column).text)));
    }
    return width;
  }

  [[nodiscard]] std::vector<std::size_t> column_widths(const Table& table) const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      widths.push_back(
          std::max(display_width(show(table.columns[i].heading)), widest_cell(table, i)));
    }
    return widths;
  }

  /// How narrow texts may become.
  enum class Texts { readable, narrow };

  /// Widths of columns with which the table fits: headings wrap first, then left-aligned texts.
  [[nodiscard]] std::vector<std::size_t> fitting_widths(const Table& table, Texts how) const {
    const std::size_t least_text = how == Texts::readable ? 20 : 12;
    std::vector<std::size_t> widths = column_widths(table);
    std::size_t total = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) total += width;
    const auto narrow = [&](std::size_t column, std::size_t least) {
      if (total <= terminal_.width || widths[column] <= least) return;
      const std::size_t less = std::min(total - terminal_.width, widths[column] - least);
      widths[column] -= less;
      total -= less;
    };
    for (std::size_t i = 0; i < widths.size(); ++i) {
      narrow(i, std::max(widest_cell(table, i), longest_word(show(table.columns[i].heading))));
    }
    std::vector<std::size_t> texts;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (table.columns[i].align == Align::left) texts.push_back(i);
    }
    std::ranges::stable_sort(texts, std::ranges::greater(),
                             [&](std::size_t i) { return widths[i]; });
    for (const std::size_t column : texts) {
      if (total <= terminal_.width) break;
      std::size_t least = least_text;
      for (const auto& row : table.rows) {
        least = std::max(least, longest_word(show(row.at(column).text)));
      }
      narrow(column, least);
    }
    return widths;
  }

  [[nodiscard]] bool fits(const Table& table, Texts how) const {
    const std::vector<std::size_t> widths = fitting_widths(table, how);
    return std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1)) <=
           terminal_.width;
  }

  /// The table, or, where its columns do not fit beside one another, several below one another, of
  /// which each repeats the columns that name the rows.
  [[nodiscard]] std::string grids(const Table& table) const {
    for (const Texts how : {Texts::readable, Texts::narrow}) {
      if (fits(table, how)) return grid(table, how);
    }
    const std::vector<std::size_t> names = naming_columns(table);
    const auto part = [&](const std::set<std::size_t>& columns) {
      std::set<std::size_t> all = columns;
      all.insert(names.begin(), names.end());
      return with_columns(table, {all.begin(), all.end()});
    };
    std::string out;
    std::set<std::size_t> columns;
    for (std::size_t i = 0; i < table.columns.size();) {
      std::set<std::size_t> next{i++};
      while (i < table.columns.size() && is_ratio(table.columns[i])) next.insert(i++);
      if (next.size() == 1 && std::ranges::count(names, *next.begin()) > 0) continue;
      std::set<std::size_t> more = columns;
      more.insert(next.begin(), next.end());
      if (!columns.empty() && !fits(part(more), Texts::readable)) {
        out += grid(part(columns), Texts::readable) + "\n";
        more = next;
      }
      columns = std::move(more);
    }
    return out + grid(part(columns), Texts::readable);
  }

  static std::size_t longest_word(const std::string& text) {
    std::size_t longest = 0;
    for (const std::string& word : lines_of(text, 1)) {
      longest = std::max(longest, display_width(word));
    }
    return longest;
  }

  /// A text in lines of so many columns, as far as its blanks allow.
  static std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
    const std::string broken = display_width(text) <= width ? text : wrapped(text, width, 0);
    std::vector<std::string> lines;
    for (std::size_t from = 0; from <= broken.size();) {
      const std::size_t end = std::min(broken.find('\n', from), broken.size());
      lines.push_back(broken.substr(from, end - from));
      from = end + 1;
    }
    return lines;
  }

  [[nodiscard]] std::string grid(const Table& table, Texts how) const {
    const std::vector<std::size_t> wanted = fitting_widths(table, how);
    std::vector<RowLines> rows(1);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      rows.front().push_back({lines_of(show(table.columns[i].heading), wanted[i]), Tone::plain});
    }
    for (const auto& row : table.rows) {
      RowLines& lines = rows.emplace_back();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        lines.push_back({lines_of(show(row.at(i).text), wanted[i]), row.at(i).tone});
      }
    }
    std::vector<std::size_t> widths(wanted.size());
    for (const RowLines& row : rows) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        for (const std::string& line : row[i].lines) {
          widths[i] = std::max(widths[i], display_width(line));
        }
      }
    }
    std::string out = row_text(table, rows.front(), widths) + rule(widths);
    for (std::size_t i = 1; i < rows.size(); ++i) out += row_text(table, rows[i], widths);
    return out;
  }

  [[nodiscard]] std::string rule(const std::vector<std::size_t>& widths) const {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) text += "  ";
      for (std::size_t k = 0; k < widths[i]; ++k) text += show("─");
    }
    return text + "\n";
  }

  [[nodiscard]] std::string row_text(const Table& table, const RowLines& row,
                                     const std::vector<std::size_t>& widths) const {
    std::size_t height = 1;
    for (const CellLines& cell : row) height = std::max(height, cell.lines.size());
    std::string out;
    for (std::size_t line = 0; line < height; ++line) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (i > 0) out += "  ";
        const std::string text = line < row[i].lines.size() ? row[i].lines[line] : "";
        out += padded(text, row[i].tone, table.columns[i].align, widths[i]);
      }
      while (out.ends_with(' ')) out.pop_back();
      out += "\n";
    }
    return out;
  }

  [[nodiscard]] std::string padded(const std::string& text, Tone tone, Align align,
                                   std::size_t columns) const {
    const std::string blanks(columns - display_width(text), ' ');
    const std::string body = painted(text, tone);
    return align == Align::right ? blanks + body : body + blanks;
  }

  [[nodiscard]] std::string painted(const std::string& text, Tone tone) const {
    if (terminal_.colour == Colour::none || tone == Tone::plain || text.empty()) return text;
    return fmt::format("{}{}\033[0m", colour_code(tone), text);
  }

  Terminal terminal_;
};

/// The words of a shell line, each with its quotes.
std::vector<std::string_view> words_of(std::string_view command) {
  std::vector<std::string_view> words;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= command.size(); ++i) {
    const bool ends = i == command.size() || (command[i] == ' ' && !is_quoted);
    if (ends) {
      if (i > begin) words.push_back(command.substr(begin, i - begin));
      begin = i + 1;
    } else if (command[i] == '\\' && !is_quoted) {
      ++i;
    } else if (command[i] == '\'') {
      is_quoted = !is_quoted;
    }
  }
  return words;
}

/// A command in lines that a shell joins. An option stays with its value where both fit.
std::string command_text(std::string_view command, std::size_t width) {
  constexpr std::string_view joins = " \\";
  const std::vector<std::string_view> words = words_of(command);
  std::string text(indent, ' ');
  std::size_t used = indent;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t wanted = display_width(words[i]);
    const bool has_value =
        words[i].starts_with("--") && i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (has_value) {
      const std::size_t both = wanted + 1 + display_width(words[i + 1]);
      if (indent + 2 + both + joins.size() <= width) wanted = both;
    }
    if (i > 0 && used + 1 + wanted + joins.size() > width) {
      text += joins;
      text += "\n" + std::string(indent + 2, ' ');
      used = indent + 2;
    } else if (i > 0) {
      text += ' ';
      ++used;
    }
    text += words[i];
    used += display_width(words[i]);
  }
  return text;
}

std::string next_text(const Document& document, const TextTables& tables, std::size_t width) {
  std::string text = "Next:\n";
  for (const NextStep& step : document.next) {
    text += wrapped("  " + tables.show(step.reason), width - indent, indent) + "\n";
    if (!step.command.empty()) text += command_text(tables.show(step.command), width) + "\n";
  }
  return text;
}

std::string write_table(const Document& document, const Terminal& terminal) {
  const TextTables tables(terminal);
  std::string out;
  if (!document.lead.empty()) out += wrapped(tables.show(document.lead), terminal.width, 0) + "\n";
  for (const Table& table : document.tables) {
    if (!out.empty()) out += "\n";
    out += tables.print(table);
  }
  if (terminal.draws) {
    if (const std::string curve = curve_text(document.curve); !curve.empty()) out += "\n" + curve;
  }
  if (!document.next.empty()) {
    out += (out.empty() ? "" : "\n") + next_text(document, tables, terminal.width);
  }
  return out;
}

}  // namespace

extern const Format table_format;
const Format table_format{"table", "aligned text for people", write_table};

}  // namespace dlscale::report::format
