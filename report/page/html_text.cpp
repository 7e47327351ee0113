#include "report/page/html_text.hpp"

#include <fmt/format.h>

#include "report/format/text_width.hpp"
#include "report/format/utf8.hpp"

namespace dlscale::report {
namespace {

std::string_view entity(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string heading_row(const Table& table) {
  std::string out = "<thead><tr>";
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column.align, Tone::plain),
                       escape_html(column.heading));
  }
  return out + "</tr></thead>\n";
}

/// A row of the body; its first cell is the row's heading.
std::string body_row(const Table& table, const std::vector<Cell>& row) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string classes = class_of(table.columns.at(i).align, row[i].tone);
    const std::string text = escape_html(row[i].text);
    out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", classes, text)
                  : fmt::format("<td{}>{}</td>", classes, text);
  }
  return out + "</tr>\n";
}

std::string notes_list(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string out = "<ul class=\"notes\">\n";
  for (const std::string& note : notes) out += "<li>" + escape_html(note) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace

std::string class_of(Align align, Tone tone) {
  std::string classes = align == Align::right ? "number" : "";
  const auto add = [&classes](std::string_view name) {
    if (!classes.empty()) classes += ' ';
    classes += name;
  };
  switch (tone) {
    case Tone::plain:
      break;
    case Tone::good:
      add("good");
      break;
    case Tone::caution:
      add("caution");
      break;
    case Tone::bad:
      add("bad");
      break;
  }
  return classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char character : format::printable(format::valid_utf8(text))) {
    const std::string_view replacement = entity(character);
    if (replacement.empty()) {
      out += character;
    } else {
      out += replacement;
    }
  }
  return out;
}

std::string html_table(const Table& table) {
  const std::string title = escape_html(table.title);
  std::string out = fmt::format(
      "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n"
      "<table>\n<caption>{}</caption>\n",
      title, title);
  out += heading_row(table) + "<tbody>\n";
  for (const auto& row : table.rows) out += body_row(table, row);
  return out + "</tbody>\n</table>\n</div>\n" + notes_list(table.notes);
}

}  // namespace dlscale::report
