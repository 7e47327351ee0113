#include "report/format/markdown.hpp"

#include <cctype>

#include "core/base/printable.hpp"
#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

bool is_word(std::string_view text, std::size_t index) {
  return index < text.size() && std::isalnum(static_cast<unsigned char>(text[index])) != 0;
}

/// Whether Markdown would interpret the character. An underscore inside a word, as in wait_free,
/// does not mean emphasis.
bool needs_backslash(std::string_view text, std::size_t index) {
  if (text[index] == '_')
    return index == 0 || !is_word(text, index - 1) || !is_word(text, index + 1);
  return std::string_view("\\|`*[]~").find(text[index]) != std::string_view::npos;
}

std::string row_text(const std::vector<Cell>& row) {
  std::string out = "|";
  for (const Cell& cell : row) out.append(" ").append(escape_markdown(cell.text)).append(" |");
  return out + "\n";
}

std::string header(const Table& table) {
  std::vector<Cell> headings;
  std::string rule = "|";
  for (const Column& column : table.columns) {
    headings.push_back({column.heading});
    rule += column.align == Align::right ? "---:|" : ":---|";
  }
  return row_text(headings) + rule + "\n";
}

std::string write_markdown(const Document& document, const Terminal&) {
  std::string out;
  if (!document.lead.empty()) out += escape_markdown(document.lead) + "\n";
  for (const Table& each : document.tables) {
    if (!out.empty()) out += "\n";
    out += markdown_table(each);
  }
  return out;
}

}  // namespace

std::string escape_markdown(std::string_view text) {
  const std::string clean = printable(text);
  std::string out;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (clean[i] == '<') {
      out += "&lt;";
    } else if (clean[i] == '&') {
      out += "&amp;";
    } else {
      if (needs_backslash(clean, i)) out += '\\';
      out += clean[i];
    }
  }
  return out;
}

std::string markdown_table(const Table& table) {
  std::string out;
  if (!table.title.empty()) out += "**" + escape_markdown(table.title) + "**\n\n";
  if (!table.rows.empty()) {
    out += header(table);
    for (const auto& row : table.rows) out += row_text(row);
    if (!table.notes.empty()) out += "\n";
  }
  for (const std::string& note : table.notes) out += "* " + escape_markdown(note) + "\n";
  return out;
}

extern const Format markdown_format;
const Format markdown_format{"markdown", "tables for a README or a pull request", write_markdown};

}  // namespace dlscale::report::format
