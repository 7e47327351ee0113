#include <algorithm>

#include <fmt/format.h>

#include "report/format/markdown_text.hpp"
#include "report/page/html_text.hpp"
#include "report/report.hpp"
#include "report/sections.hpp"

namespace dlscale::report {
namespace {

using format::escape_markdown;

/// Writes one block of a section.
struct MarkdownBlock {
  const Figures* figures;

  std::string operator()(const Paragraph& paragraph) const {
    return escape_markdown(paragraph.text) + "\n";
  }
  std::string operator()(const Items& items) const {
    std::string out;
    for (const std::string& line : items.lines) out += "* " + escape_markdown(line) + "\n";
    return out;
  }
  std::string operator()(const Table& table) const { return format::markdown_table(table); }
  std::string operator()(const Folded& folded) const {
    return fmt::format("<details>\n<summary>{}</summary>\n\n{}\n</details>\n",
                       escape_html(folded.table.title), format::markdown_table(folded.table));
  }
  std::string operator()(const FigureSlot& slot) const {
    const auto found = std::ranges::find(figures->drawn, slot.name, &Figure::name);
    if (found == figures->drawn.end()) return "";
    return fmt::format("![{}](<{}>)\n\n{}\n", escape_markdown(found->alt),
                       found->file.generic_string(), escape_markdown(found->title));
  }
};

}  // namespace

std::string markdown(const ReportInput& input, const Figures& figures) {
  std::string out = "# " + escape_markdown(report_title(input)) + "\n";
  for (const Section& section : report_sections(input, figures)) {
    out += "\n## " + escape_markdown(section.title) + "\n";
    for (const Block& block : section.blocks) {
      const std::string text = std::visit(MarkdownBlock{&figures}, block);
      if (!text.empty()) out += "\n" + text;
    }
  }
  return out;
}

}  // namespace dlscale::report
