#include "report/page/html.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "report/format/text_width.hpp"
#include "report/page/page.hpp"

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

/// Columns that a class of their table aligns to the right ("n3", style.css). Cells of further ones
/// have a class each.
constexpr std::size_t most_aligned = 32;

std::string aligned_columns(const Table& table) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most_aligned, table.columns.size()); ++i) {
    if (table.columns[i].align == Align::right) names.push_back(fmt::format("n{}", i + 1));
  }
  return names.empty() ? "" : fmt::format(" class=\"{}\"", fmt::join(names, " "));
}

/// A row of the body; its first cell is the row's heading.
std::string body_row(const Table& table, const std::vector<Cell>& row) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Align align = i < most_aligned ? Align::left : table.columns.at(i).align;
    const std::string classes = class_of(align, row[i].tone);
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

/// The drawing, its title, and its numbers folded below.
std::string figure_html(const Figure& figure) {
  const std::string data = figure.data.rows.empty()
                               ? ""
                               : fmt::format(
                                     "<details class=\"data\">\n<summary>Numbers of this "
                                     "figure</summary>\n{}</details>\n",
                                     html_table(figure.data));
  return fmt::format("<figure>\n{}\n<figcaption>{}</figcaption>\n{}</figure>\n", inline_svg(figure),
                     format::escape_markup(figure.title), data);
}

std::string figure_named(const Figures& figures, const std::string& name) {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  return found == figures.end() ? "" : figure_html(*found);
}

std::string head(const std::string& title);

/// A page of tables alone, which index.html links. `up` leads to its folder.
std::string page_of_tables(const std::string& title, std::string_view up,
                           const std::vector<Table>& tables) {
  const std::string name = format::escape_markup(title);
  std::string out = head("dlscale: " + name) +
                    fmt::format(
                        "<body>\n<header>\n<p><a href=\"{}index.html\">The report</a></p>\n"
                        "<h1>{}</h1>\n</header>\n<main class=\"raw\">\n",
                        up, name);
  for (const Table& table : tables) out += html_table(table);
  return out + fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", page_script());
}

std::size_t rows_of(const Appendix& appendix) {
  std::size_t rows = 0;
  for (const Table& table : appendix.tables) rows += table.rows.size();
  return rows;
}

/// Whether the appendices of a page are too long to stand within it.
bool has_long_appendices(const Page& page) {
  std::size_t rows = 0;
  for (const Section& section : page.sections) {
    for (const Block& block : section.blocks) {
      if (const auto* appendix = std::get_if<Appendix>(&block)) rows += rows_of(*appendix);
    }
  }
  return rows > most_rows_within;
}

/// "rows.html", "rows-2.html": the next file of raw rows.
std::string rows_file(const std::vector<TextFile>& files) {
  const auto count = std::ranges::count_if(
      files, [](const TextFile& each) { return each.file.string().starts_with("rows"); });
  return count == 0 ? "rows.html" : fmt::format("rows-{}.html", count + 1);
}

/// The tables in parts of about as many rows as a browser shows at once.
std::vector<std::vector<Table>> parts_of(const std::vector<Table>& tables) {
  std::vector<std::vector<Table>> parts;
  std::size_t rows = 0;
  for (const Table& table : tables) {
    if (parts.empty() || rows + table.rows.size() > 2 * most_rows_within) {
      parts.emplace_back();
      rows = 0;
    }
    parts.back().push_back(table);
    rows += table.rows.size();
  }
  return parts;
}

std::string link(const std::filesystem::path& file, const std::string& text) {
  return fmt::format("<a href=\"{}\">{}</a>", file.generic_string(), format::escape_markup(text));
}

/// Writes one block of a section.
struct HtmlBlock {
  const Page* page;
  std::vector<TextFile>* files;  ///< index.html, which comes last, and those that it links

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
    if (raw.table.rows.size() > most_rows_within) {
      const std::string file = rows_file(*files);
      files->push_back({file, page_of_tables(raw.table.title, "", {raw.table})});
      return fmt::format("<p>{} (a file beside this page)</p>\n", link(file, raw.table.title));
    }
    return fmt::format("<details class=\"raw\">\n<summary>{}</summary>\n{}</details>\n",
                       format::escape_markup(raw.table.title), html_table(raw.table));
  }
  std::string operator()(const Appendix& appendix) const {
    std::string out = "<h3>" + format::escape_markup(appendix.name) + "</h3>\n";
    if (has_long_appendices(*page)) return out + apart(appendix);
    for (const Table& table : appendix.tables) out += (*this)(Folded{table});
    return out;
  }
  std::string operator()(const FigureSlot& slot) const {
    return slot.name == page->picture ? "" : figure_named(page->figures, slot.name);
  }

 private:
  /// Writes files of the tables and returns a list of links to them.
  [[nodiscard]] std::string apart(const Appendix& appendix) const {
    const bool of_layers = appendix.of == Appendix::Of::layers;
    const std::vector<std::vector<Table>> parts = parts_of(appendix.tables);
    std::string out = "<ul>\n";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string number = parts.size() == 1 ? std::string() : fmt::format("-{}", i + 1);
      const std::string file = fmt::format("{}/{}{}.html", of_layers ? "layers" : "messages",
                                           file_name(appendix.name), number);
      files->push_back({file, page_of_tables(appendix.name, "../", parts[i])});
      out += fmt::format("<li>{}</li>\n",
                         link(file, parts[i].front().title + (parts[i].size() > 1 ? " …" : "")));
    }
    return out + "</ul>\n";
  }
};

/// A folded section. Its id is within what is folded, so that a link to it opens the section.
std::string section_html(const Section& section, const Page& page, std::vector<TextFile>& files) {
  std::string out =
      fmt::format("<details class=\"section\">\n<summary><h2>{}</h2></summary>\n<div id=\"{}\">\n",
                  format::escape_markup(section.title), section.id);
  for (const Block& block : section.blocks) out += std::visit(HtmlBlock{&page, &files}, block);
  return out + "</div>\n</details>\n";
}

/// Escaped, with no line break between a number and "%".
std::string unbroken(const std::string& text) {
  std::string out = format::escape_markup(text);
  constexpr std::string_view space = " %";
  constexpr std::string_view joined = "\u00a0%";
  for (auto at = out.find(space); at != out.npos; at = out.find(space, at + joined.size())) {
    out.replace(at, space.size(), joined);
  }
  return out;
}

std::string tiles_html(const std::vector<Tile>& tiles) {
  if (tiles.empty()) return "";
  std::string out = "<dl class=\"tiles\">\n";
  for (const Tile& tile : tiles) {
    const std::string detail = tile.detail.empty() ? "" : "<dd>" + unbroken(tile.detail) + "</dd>";
    out += fmt::format("<div><dt>{}</dt><dd class=\"figure\"><span{}>{}</span></dd>{}</div>\n",
                       format::escape_markup(tile.name), class_of(Align::left, tile.tone),
                       unbroken(tile.value), detail);
  }
  return out + "</dl>\n";
}

/// The quality of the data in a line. It opens to what its word means and a link to the checks, so
/// that readers without a mouse find them too.
std::string data_html(const Page& page) {
  if (!page.data) return "";
  const std::string link = page.data_section.empty()
                               ? ""
                               : fmt::format(" <a href=\"#{}\">Details</a>", page.data_section);
  return fmt::format(
      "<details class=\"data\">\n<summary>{} <strong{}>{} data</strong>: {}</summary>\n"
      "<p>{}{}</p>\n</details>\n",
      data_label, class_of(Align::left, page.data->tone), format::escape_markup(page.data->word),
      format::escape_markup(page.data->reasons), data_meaning, link);
}

/// Whether a byte is part of a word: a letter, a digit, "_", or a part of a longer character.
bool is_of_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

/// Escaped, with each placeholder that is a whole word marked.
std::string with_placeholders(const std::string& text,
                              const std::vector<std::string>& placeholders) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && is_of_word(text[end]) == is_of_word(text[at])) ++end;
    const std::string word = text.substr(at, end - at);
    const bool is_placeholder = std::ranges::find(placeholders, word) != placeholders.end();
    out += is_placeholder ? "<var title=\"Replace this word\">" + word + "</var>"
                          : format::escape_markup(word);
    at = end;
  }
  return out;
}

/// Escaped and marked. Lines may break at spaces and behind commas and slashes, but not behind the
/// hyphens of a name, where a browser would break them.
std::string marked(const std::string& text, const std::vector<std::string>& placeholders) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,/", at), text.size() - 1) + 1;
    const std::size_t space = text[end - 1] == ' ' ? 1 : 0;
    const std::string piece = text.substr(at, end - at - space);
    const std::string code = with_placeholders(piece, placeholders);
    const bool breaks = piece.find('-', piece.find_first_not_of('-')) != std::string::npos;
    out += breaks ? "<span class=\"piece\">" + code + "</span>" : code;
    out += space > 0 ? " " : piece.back() == ',' || piece.back() == '/' ? "<wbr>" : "";
    at = end;
  }
  return out;
}

/// A command whose lines break before an option or "&&", and within one only if it fills a line.
std::string command_html(const NextStep& step) {
  std::string out;
  const std::string& text = step.command;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end =
        std::min({text.find(" -", at + 1), text.find(" && ", at + 1), text.size()});
    out += fmt::format("{}<span class=\"option\">{}</span>", at == 0 ? "" : " ",
                       marked(text.substr(at, end - at), step.placeholders));
    at = end + 1;
  }
  return out;
}

std::string next_html(const std::vector<NextStep>& steps) {
  if (steps.empty()) return "";
  std::string out =
      "<section id=\"next\" aria-labelledby=\"next-title\">\n"
      "<h2 id=\"next-title\">What to do next</h2>\n<ul>\n";
  for (const NextStep& step : steps) {
    const std::string command =
        step.command.empty() ? "" : "<pre><code>" + command_html(step) + "</code></pre>";
    out += fmt::format("<li>{}{}</li>\n", format::escape_markup(step.reason), command);
  }
  return out + "</ul>\n</section>\n";
}

/// What is seen without opening anything.
std::string first_screen_html(const Page& page) {
  const Tone tone = page.tone == Tone::good ? Tone::plain : page.tone;
  return fmt::format(
      "<section id=\"verdict\" aria-label=\"Verdict\">\n<p{}>{}</p>\n{}{}</section>\n"
      "<div class=\"first\">\n{}{}</div>\n",
      class_of(Align::left, tone), unbroken(page.verdict), tiles_html(page.tiles), data_html(page),
      figure_named(page.figures, page.picture), next_html(page.next));
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
      "<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">\n"
      "<table{}>\n<caption>{}</caption>\n",
      title, aligned_columns(table), title);
  out += heading_row(table) + "<tbody>\n";
  for (const auto& row : table.rows) out += body_row(table, row);
  return out + "</tbody>\n</table>\n</div>\n" + notes_list(table.notes);
}

std::vector<TextFile> html_files(const Page& page) {
  std::vector<TextFile> files;
  std::string out = head(fmt::format("dlscale {}: {}", format::escape_markup(page.kind),
                                     format::escape_markup(page.question)));
  out += fmt::format("<body>\n<header>\n<p>dlscale · {}</p>\n<h1>{}</h1>\n</header>\n<main>\n",
                     format::escape_markup(page.kind), format::escape_markup(page.question));
  out += first_screen_html(page);
  for (const Section& section : page.sections) out += section_html(section, page, files);
  out += fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", page_script());
  files.insert(files.begin(), {"index.html", std::move(out)});
  return files;
}

}  // namespace dlscale::report
