#include "report/page/html.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "report/format/text_width.hpp"
#include "report/sections/report.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {

namespace {

std::string heading_row(const Table& table) {
  std::string out = "<thead><tr>";
  for (const Column& column : table.columns) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(column.align, Tone::plain),
                       format::escape_markup(column.heading));
  }
  return out + "</tr></thead>\n";
}

/// A row of the body; its first cell is the row's heading.
std::string body_row(const Table& table, const std::vector<Cell>& row) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string classes = class_of(table.columns.at(i).align, row[i].tone);
    const std::string text = format::escape_markup(row[i].text);
    out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", classes, text)
                  : fmt::format("<td{}>{}</td>", classes, text);
  }
  return out + "</tr>\n";
}

std::string notes_list(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string out = "<ul class=\"notes\">\n";
  for (const std::string& note : notes) out += "<li>" + format::escape_markup(note) + "</li>\n";
  return out + "</ul>\n";
}

std::string list(const std::vector<std::string>& lines) {
  std::string out = "<ul>\n";
  for (const std::string& line : lines) out += "<li>" + format::escape_markup(line) + "</li>\n";
  return out + "</ul>\n";
}

/// The drawing with a role and a label for screen readers.
std::string inline_svg(const Figure& figure) {
  constexpr std::string_view opening = "<svg";
  EXPECT(figure.svg.starts_with(opening));
  return fmt::format("{} role=\"img\" aria-label=\"{}\"{}", opening,
                     format::escape_markup(figure.alt), figure.svg.substr(opening.size()));
}

/// Writes one block of a section.
struct HtmlBlock {
  const Figures* figures;

  std::string operator()(const Paragraph& paragraph) const {
    return "<p>" + format::escape_markup(paragraph.text) + "</p>\n";
  }
  std::string operator()(const Badge& badge) const {
    return fmt::format("<p><strong{}>{}</strong>: {}</p>\n", class_of(Align::left, badge.tone),
                       format::escape_markup(badge.word), format::escape_markup(badge.reasons));
  }
  std::string operator()(const Items& items) const { return list(items.lines); }
  std::string operator()(const Table& table) const { return html_table(table); }
  std::string operator()(const Folded& folded) const {
    return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n",
                       format::escape_markup(folded.table.title), html_table(folded.table));
  }
  std::string operator()(const RawRows& raw) const {
    return fmt::format("<details class=\"raw\">\n<summary>{}</summary>\n{}</details>\n",
                       format::escape_markup(raw.table.title), html_table(raw.table));
  }
  std::string operator()(const Appendix& appendix) const {
    std::string out = "<h3>" + format::escape_markup(appendix.name) + "</h3>\n";
    for (const Table& table : appendix.tables) out += (*this)(Folded{table});
    return out;
  }
  std::string operator()(const FigureSlot& slot) const {
    const auto found = std::ranges::find(*figures, slot.name, &Figure::name);
    if (found == figures->end()) return "";
    return fmt::format("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", inline_svg(*found),
                       format::escape_markup(found->title));
  }
};

std::string section_html(const Section& section, const Figures& figures) {
  std::string out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n",
      section.id, format::escape_markup(section.title));
  for (const Block& block : section.blocks) out += std::visit(HtmlBlock{&figures}, block);
  return out + "</section>\n";
}

std::string contents(const std::vector<Section>& sections) {
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (const Section& section : sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id,
                       format::escape_markup(section.title));
  }
  return out + "</ul></nav>\n";
}

/// Forbids all loading, sending and scripts except the page's own script. Figures use style
/// attributes, which a digest cannot allow.
std::string policy() {
  return fmt::format(
      "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; img-src data:; "
      "base-uri 'none'; form-action 'none'",
      page_script_hash());
}

std::string head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n",
      policy(), title, style_sheet());
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

std::string html_table(const Table& table) {
  const std::string title = format::escape_markup(table.title);
  std::string out = fmt::format(
      "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n"
      "<table>\n<caption>{}</caption>\n",
      title, title);
  out += heading_row(table) + "<tbody>\n";
  for (const auto& row : table.rows) out += body_row(table, row);
  return out + "</tbody>\n</table>\n</div>\n" + notes_list(table.notes);
}

std::string html_page(const std::string& page_title, const std::vector<Section>& sections,
                      const Figures& figures) {
  const std::string title = format::escape_markup(page_title);
  std::string out = head(title) + "<body>\n<header>\n<h1>" + title + "</h1>\n" +
                    contents(sections) + "</header>\n<main>\n";
  for (const Section& section : sections) out += section_html(section, figures);
  return out + fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", page_script());
}

std::string html(const ReportInput& input, const Figures& figures) {
  return html_page(report_title(input), report_sections(input), figures);
}

}  // namespace dlscale::report
