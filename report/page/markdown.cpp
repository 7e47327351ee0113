#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/format/markdown.hpp"
#include "report/format/text_width.hpp"
#include "report/sections/report.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

using format::escape_markdown;

/// Code hosts do not show Markdown beyond a few hundred kilobytes.
constexpr std::size_t largest_page = 150'000;

/// Appends the table; if it is too long for a page, splits its rows among several.
void append_texts(std::vector<std::string>& texts, const Table& table) {
  std::vector<Table> parts{table};  // the first becomes the last
  while (!parts.empty()) {
    const Table part = std::move(parts.back());
    parts.pop_back();
    std::string text = fmt::format("\n{}", format::markdown_table(part));
    if (text.size() <= largest_page || part.rows.size() < 2) {
      texts.push_back(std::move(text));
      continue;
    }
    const auto middle = part.rows.begin() + std::ssize(part.rows) / 2;
    parts.push_back({part.title, part.columns, {middle, part.rows.end()}, part.notes});
    parts.push_back({part.title, part.columns, {part.rows.begin(), middle}, {}});
  }
}

/// Packs tables into pages, as many as fit on each.
std::vector<std::string> packed(const std::vector<Table>& tables) {
  std::vector<std::string> texts;
  for (const Table& table : tables) append_texts(texts, table);
  std::vector<std::string> pages;
  for (const std::string& text : texts) {
    if (pages.empty() || pages.back().size() + text.size() > largest_page) pages.emplace_back();
    pages.back() += text;
  }
  return pages;
}

/// A file name that needs no quoting.
std::string file_name(const std::string& name) {
  std::string plain = name;
  const auto odd = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_';
  };
  std::ranges::replace_if(plain, odd, '-');
  return plain;
}

std::vector<Page> appendix_pages(const Appendix& appendix) {
  const bool of_layers = appendix.of == Appendix::Of::layers;
  const std::string_view folder = of_layers ? "layers" : "messages";
  const std::string_view title = of_layers ? layer_page_title : message_page_title;
  const std::vector<std::string> texts = packed(appendix.tables);
  std::vector<Page> pages;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string number = texts.size() == 1 ? std::string() : fmt::format("-{}", i + 1);
    const std::string part =
        texts.size() == 1 ? "" : fmt::format(" ({} of {})", i + 1, texts.size());
    pages.push_back({fmt::format("{}/{}{}.md", folder, file_name(appendix.name), number),
                     fmt::format("{}{}{}\n\n[The report](../README.md)\n{}", title,
                                 escape_markdown(appendix.name), part, texts[i])});
  }
  return pages;
}

/// Writes one block of a section.
struct MarkdownBlock {
  const Figures* figures;

  std::string operator()(const Paragraph& paragraph) const {
    return escape_markdown(paragraph.text) + "\n";
  }
  std::string operator()(const Badge& badge) const {
    return fmt::format("**{}**: {}\n", escape_markdown(badge.word), escape_markdown(badge.reasons));
  }
  std::string operator()(const Items& items) const {
    std::string out;
    for (const std::string& line : items.lines) out += "* " + escape_markdown(line) + "\n";
    return out;
  }
  std::string operator()(const Table& table) const { return format::markdown_table(table); }
  std::string operator()(const Folded& folded) const {
    if (folded.in == Folded::In::html) return (*this)(folded.table);
    Table untitled = folded.table;
    untitled.title.clear();
    return fmt::format("<details>\n<summary>{}</summary>\n\n{}\n</details>\n",
                       format::escape_markup(folded.table.title), format::markdown_table(untitled));
  }
  /// Thousands of rows do not belong on a page of text.
  std::string operator()(const RawRows& raw) const {
    return escape_markdown(raw.table.title) + ": in index.html, or in the format csv.\n";
  }
  std::string operator()(const Appendix& appendix) const {
    const std::vector<Page> pages = appendix_pages(appendix);
    std::string out = "* " + escape_markdown(appendix.name) + ":";
    for (std::size_t i = 0; i < pages.size(); ++i) {
      out += fmt::format("{} [{}](<{}>)", i == 0 ? "" : ",",
                         pages.size() == 1 ? "tables" : fmt::format("part {}", i + 1),
                         pages[i].file.generic_string());
    }
    return out + "\n";
  }
  std::string operator()(const FigureSlot& slot) const {
    const auto found = std::ranges::find(*figures, slot.name, &Figure::name);
    if (found == figures->end()) return "";
    return fmt::format("![{}](<{}>)\n\n{}\n", escape_markdown(found->alt),
                       found->file.generic_string(), escape_markdown(found->title));
  }
};

void append_appendices(std::vector<Page>& pages, const Section& section) {
  for (const Block& block : section.blocks) {
    if (const auto* appendix = std::get_if<Appendix>(&block)) {
      std::ranges::move(appendix_pages(*appendix), std::back_inserter(pages));
    }
  }
}

}  // namespace

std::vector<Page> markdown_pages(const std::string& title, const std::vector<Section>& sections,
                                 const Figures& figures) {
  std::vector<Page> pages{{"README.md", "# " + escape_markdown(title) + "\n"}};
  for (const Section& section : sections) {
    std::string out = "\n## " + escape_markdown(section.title) + "\n";
    for (const Block& block : section.blocks) {
      const std::string text = std::visit(MarkdownBlock{&figures}, block);
      if (!text.empty()) out += "\n" + text;
    }
    pages.front().text += out;
    append_appendices(pages, section);
  }
  return pages;
}

std::vector<Page> markdown(const ReportInput& input, const Figures& figures) {
  return markdown_pages(report_title(input), report_sections(input), figures);
}

}  // namespace dlscale::report
