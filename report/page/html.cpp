#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "report/page/html_text.hpp"
#include "report/page/style.hpp"
#include "report/sections/report.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

std::string list(const std::vector<std::string>& lines) {
  std::string out = "<ul>\n";
  for (const std::string& line : lines) out += "<li>" + escape_html(line) + "</li>\n";
  return out + "</ul>\n";
}

/// The drawing with a role and a label for screen readers.
std::string inline_svg(const Figure& figure) {
  constexpr std::string_view opening = "<svg";
  EXPECT(figure.svg.starts_with(opening));
  return fmt::format("{} role=\"img\" aria-label=\"{}\"{}", opening, escape_html(figure.alt),
                     figure.svg.substr(opening.size()));
}

/// Writes one block of a section.
struct HtmlBlock {
  const Figures* figures;

  std::string operator()(const Paragraph& paragraph) const {
    return "<p>" + escape_html(paragraph.text) + "</p>\n";
  }
  std::string operator()(const Badge& badge) const {
    return fmt::format("<p><strong{}>{}</strong>: {}</p>\n", class_of(Align::left, badge.tone),
                       escape_html(badge.word), escape_html(badge.reasons));
  }
  std::string operator()(const Items& items) const { return list(items.lines); }
  std::string operator()(const Table& table) const { return html_table(table); }
  std::string operator()(const Folded& folded) const {
    return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n",
                       escape_html(folded.table.title), html_table(folded.table));
  }
  std::string operator()(const RawRows& raw) const {
    return fmt::format("<details class=\"raw\">\n<summary>{}</summary>\n{}</details>\n",
                       escape_html(raw.table.title), html_table(raw.table));
  }
  std::string operator()(const Appendix& appendix) const {
    std::string out = "<h3>" + escape_html(appendix.name) + "</h3>\n";
    for (const Table& table : appendix.tables) out += (*this)(Folded{table});
    return out;
  }
  std::string operator()(const FigureSlot& slot) const {
    const auto found = std::ranges::find(*figures, slot.name, &Figure::name);
    if (found == figures->end()) return "";
    return fmt::format("<figure>\n{}\n<figcaption>{}</figcaption>\n</figure>\n", inline_svg(*found),
                       escape_html(found->title));
  }
};

std::string section_html(const Section& section, const Figures& figures) {
  std::string out = fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n",
      section.id, escape_html(section.title));
  for (const Block& block : section.blocks) out += std::visit(HtmlBlock{&figures}, block);
  return out + "</section>\n";
}

std::string contents(const std::vector<Section>& sections) {
  std::string out = "<nav aria-label=\"Contents\"><ul>\n";
  for (const Section& section : sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escape_html(section.title));
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

std::string html_page(const std::string& page_title, const std::vector<Section>& sections,
                      const Figures& figures) {
  const std::string title = escape_html(page_title);
  std::string out = head(title) + "<body>\n<header>\n<h1>" + title + "</h1>\n" +
                    contents(sections) + "</header>\n<main>\n";
  for (const Section& section : sections) out += section_html(section, figures);
  return out + fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", page_script());
}

std::string html(const ReportInput& input, const Figures& figures) {
  return html_page(report_title(input), report_sections(input), figures);
}

}  // namespace dlscale::report
