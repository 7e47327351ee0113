#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "report/format/markdown.hpp"
#include "report/format/text_width.hpp"
#include "report/page/page.hpp"

namespace dlscale::report {
namespace {

using format::escape_markdown;

/// First line of every file, by which is_page_text() knows it.
constexpr std::string_view mark = "<!-- page of dlscale -->";

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

std::vector<TextFile> markdown_appendix(const Appendix& appendix) {
  const bool of_layers = appendix.of == Appendix::Of::layers;
  const std::string_view folder = of_layers ? "layers" : "messages";
  const std::string_view title = of_layers ? "Tables by layer of " : "Messages of ";
  const std::vector<std::string> texts = packed(appendix.tables);
  std::vector<TextFile> files;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string number = texts.size() == 1 ? std::string() : fmt::format("-{}", i + 1);
    const std::string part =
        texts.size() == 1 ? "" : fmt::format(" ({} of {})", i + 1, texts.size());
    files.push_back({fmt::format("{}/{}{}.md", folder, file_name(appendix.name), number),
                     fmt::format("{}\n# {}{}{}\n\n[The report](../README.md)\n{}", mark, title,
                                 escape_markdown(appendix.name), part, texts[i])});
  }
  return files;
}

std::string figure_markdown(const Figures& figures, const std::string& name) {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  if (found == figures.end()) return "";
  std::string out = fmt::format("![{}](<{}>)\n\n{}\n", escape_markdown(found->alt),
                                found->file.generic_string(), escape_markdown(found->title));
  constexpr std::size_t most_rows = most_unfolded_rows;
  if (found->data.rows.empty() || found->data.rows.size() > most_rows) return out;
  return out + fmt::format(
                   "\n<details>\n<summary>Numbers of this figure</summary>\n\n{}\n"
                   "</details>\n",
                   format::markdown_table(found->data));
}

/// Writes one block of a section.
struct MarkdownBlock {
  const Page* page;

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
    return escape_markdown(raw.table.title) + ": in the HTML form of this page.\n";
  }
  std::string operator()(const Appendix& appendix) const {
    const std::vector<TextFile> files = markdown_appendix(appendix);
    std::string out = "* " + escape_markdown(appendix.name) + ":";
    for (std::size_t i = 0; i < files.size(); ++i) {
      out += fmt::format("{} [{}](<{}>)", i == 0 ? "" : ",",
                         files.size() == 1 ? "tables" : fmt::format("part {}", i + 1),
                         files[i].file.generic_string());
    }
    return out + "\n";
  }
  std::string operator()(const FigureSlot& slot) const {
    return slot.name == page->picture ? "" : figure_markdown(page->figures, slot.name);
  }
};

void append_appendices(std::vector<TextFile>& files, const Section& section) {
  for (const Block& block : section.blocks) {
    if (const auto* appendix = std::get_if<Appendix>(&block)) {
      std::ranges::move(markdown_appendix(*appendix), std::back_inserter(files));
    }
  }
}

std::string tiles_markdown(const std::vector<Tile>& tiles) {
  if (tiles.empty()) return "";
  Table table{"", {{"figure", Align::left}, {"value"}, {"interval or limit", Align::left}}, {}, {}};
  for (const Tile& tile : tiles) table.rows.push_back({{tile.name}, {tile.value}, {tile.detail}});
  return "\n" + format::markdown_table(table);
}

std::string next_markdown(const std::vector<NextStep>& steps) {
  if (steps.empty()) return "";
  std::string out = "\n## What to do next\n";
  for (const NextStep& step : steps) {
    out += "\n" + escape_markdown(step.reason) + "\n";
    if (!step.command.empty()) out += fmt::format("\n```sh\n{}\n```\n", printable(step.command));
  }
  return out;
}

std::string first_screen_markdown(const Page& page) {
  std::string out = fmt::format("{}\n# {}\n\n**{}**\n", mark, escape_markdown(page.question),
                                escape_markdown(page.verdict));
  out += tiles_markdown(page.tiles);
  if (page.data) {
    out += fmt::format(
        "\n{} **{} data**: {}\n\n<details>\n<summary>Good, usable or doubtful</summary>\n\n{}\n\n"
        "</details>\n",
        data_label, escape_markdown(page.data->word), escape_markdown(page.data->reasons),
        data_meaning);
  }
  if (const std::string picture = figure_markdown(page.figures, page.picture); !picture.empty()) {
    out += "\n" + picture;
  }
  return out + next_markdown(page.next);
}

}  // namespace

std::vector<TextFile> markdown(const Page& page) {
  std::vector<TextFile> files{{"README.md", first_screen_markdown(page)}};
  for (const Section& section : page.sections) {
    std::string out = "\n## " + escape_markdown(section.title) + "\n";
    for (const Block& block : section.blocks) {
      const std::string text = std::visit(MarkdownBlock{&page}, block);
      if (!text.empty()) out += "\n" + text;
    }
    files.front().text += out;
    append_appendices(files, section);
  }
  return files;
}

bool is_page_text(std::string_view start) {
  return start.starts_with(mark) || start.starts_with("# dlscale: ") ||
         start.find("<title>dlscale") != std::string_view::npos;
}

}  // namespace dlscale::report
