#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/display_width.hpp"
#include "core/base/printable.hpp"
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

/// Prints tables with columns as wide as their widest cell, two spaces apart.
class TextTables {
 public:
  explicit TextTables(const Terminal& terminal) : terminal_(terminal) {}

  [[nodiscard]] std::string show(std::string_view text) const {
    const std::string clean = printable(text);
    return terminal_.charset == Charset::ascii ? to_ascii(clean) : clean;
  }

  [[nodiscard]] std::string print(const Table& whole) const {
    const Table table =
        without_columns(whole, columns_left_out(whole, column_widths(whole), terminal_.width));
    const std::vector<std::size_t> widths = column_widths(table);
    std::string out;
    if (!table.title.empty()) out += wrapped(show(table.title), terminal_.width, 0) + "\n\n";
    if (!table.rows.empty()) {
      out += header(table, widths);
      for (const auto& row : table.rows) out += line(table, row, widths);
    }
    for (const std::string& note : table.notes) {
      out += wrapped("  " + show(note), terminal_.width - indent, indent) + "\n";
    }
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> column_widths(const Table& table) const {
    std::vector<std::size_t> widths;
    for (const Column& column : table.columns)
      widths.push_back(display_width(show(column.heading)));
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        widths[i] = std::max(widths[i], display_width(show(row.at(i).text)));
      }
    }
    return widths;
  }

  [[nodiscard]] std::string header(const Table& table,
                                   const std::vector<std::size_t>& widths) const {
    std::vector<Cell> headings;
    std::string rule;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      headings.push_back({table.columns[i].heading});
      if (i > 0) rule += "  ";
      for (std::size_t k = 0; k < widths[i]; ++k) rule += show("─");
    }
    return line(table, headings, widths) + rule + "\n";
  }

  [[nodiscard]] std::string line(const Table& table, const std::vector<Cell>& cells,
                                 const std::vector<std::size_t>& widths) const {
    std::string out;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) out += "  ";
      out += padded(cells.at(i), table.columns[i].align, widths[i]);
    }
    while (out.ends_with(' ')) out.pop_back();
    return out + "\n";
  }

  [[nodiscard]] std::string padded(const Cell& cell, Align align, std::size_t columns) const {
    const std::string text = show(cell.text);
    const std::string blanks(columns - display_width(text), ' ');
    const std::string body = painted(text, cell.tone);
    return align == Align::right ? blanks + body : body + blanks;
  }

  [[nodiscard]] std::string painted(const std::string& text, Tone tone) const {
    if (terminal_.colour == Colour::none || tone == Tone::plain) return text;
    return fmt::format("{}{}\033[0m", colour_code(tone), text);
  }

  Terminal terminal_;
};

/// Sentences in lines. A headline, which has no full stop, stays on one, since scripts read it.
std::string lead_text(const std::string& lead, std::size_t width) {
  return lead.ends_with('.') ? wrapped(lead, width, 0) : lead;
}

std::string write_table(const Document& document, const Terminal& terminal) {
  const TextTables tables(terminal);
  std::string out;
  if (!document.lead.empty()) out += lead_text(tables.show(document.lead), terminal.width) + "\n";
  for (const Table& table : document.tables) {
    if (!out.empty()) out += "\n";
    out += tables.print(table);
  }
  return out;
}

}  // namespace

extern const Format table_format;
const Format table_format{"table", "aligned text for people", write_table};

}  // namespace dlscale::report::format
