#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/table/table.hpp"

namespace dlscale::report {

/// The kinds of blocks in a section.
struct Paragraph {
  std::string text;
};
struct Items {
  std::vector<std::string> lines;
};
/// Place of the figure of that name, if it was drawn.
struct FigureSlot {
  std::string name;
};
/// One word and its reasons.
struct Badge {
  Tone tone = Tone::plain;
  std::string word;
  std::string reasons;
};
// Badges of the data that an answer rests on, by their quality.
inline Badge good_data(std::string reasons) {
  return {Tone::good, "Good", std::move(reasons)};
}
inline Badge usable_data(std::string reasons) {
  return {Tone::caution, "Usable", std::move(reasons)};
}
inline Badge doubtful_data(std::string reasons) {
  return {Tone::bad, "Doubtful", std::move(reasons)};
}
/// A table that shows only its title until it is opened.
struct Folded {
  enum class In { all_forms, html };
  Table table;
  In in = In::all_forms;  ///< html: Markdown shows the table unfolded
};
/// Tables too long to read within a page: folded in HTML; separate linked pages in Markdown.
struct Appendix {
  enum class Of { layers, messages };
  std::string name;  ///< subject of the tables; also names the pages
  std::vector<Table> tables;
  Of of = Of::layers;
};
/// All rows, however many: folded in HTML; Markdown only says where they are.
struct RawRows {
  Table table;
};
using Block = std::variant<Paragraph, Badge, Items, Table, Folded, Appendix, FigureSlot, RawRows>;

/// Details of a page, folded until they are opened.
struct Section {
  std::string id;  ///< lower-case word, for links
  std::string title;
  std::vector<Block> blocks;
};

/// A name of letters, digits, "-" and "_" for the files of an appendix.
std::string file_name(const std::string& name);

inline constexpr std::size_t most_unfolded_rows = 40;  ///< a longer table is folded
/// Appends a table that has rows: folded, or as raw rows if it is too long for a page of text.
void append_folded(Section& section, Table table);

}  // namespace dlscale::report
