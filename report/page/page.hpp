#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/figure.hpp"
#include "report/page/blocks.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A number on the first screen.
struct Tile {
  std::string name;    ///< "iteration"
  std::string value;   ///< with its unit: "102 ms"
  std::string detail;  ///< its interval, or the value that it is held against; may be empty
  Tone tone = Tone::plain;
};

/// A report in the order of reading, which is the same for every kind. The first screen holds the
/// question, the answer and its uncertainty, one picture, and the next steps. Sections are folded;
/// the last ones say how the answer was made and list all rows.
struct Page {
  std::string kind;      ///< in a word or two: "gate", "prediction"
  std::string question;  ///< the title
  std::string verdict;   ///< the answer in a sentence
  Tone tone = Tone::plain;
  std::vector<Tile> tiles;  ///< three to five
  std::string picture;      ///< name of the figure on the first screen; may be empty
  std::vector<NextStep> next;
  /// Quality of the data: its word is good, usable or doubtful (`data_meaning`).
  std::optional<Badge> data;
  std::string data_section;  ///< id of the section with the checks of the data; may be empty
  std::vector<Section> sections;
  Figures figures;
};

/// Label of the quality of the data, and the meaning of its three words.
inline constexpr std::string_view data_label = "How sure?";
inline constexpr std::string_view data_meaning =
    "Good data: no check found a doubt. Usable data: weigh the doubt that this line names. "
    "Doubtful data: do not decide by this answer.";

/// A file of text and its path.
struct TextFile {
  std::filesystem::path file;  ///< relative to the folder of the report
  std::string text;
};

/// Self-contained HTML, index.html first: figures are inlined, and its policy forbids all network
/// access. Its own script makes tables sortable and filterable; the page is readable without it.
/// Raw rows and appendices of more than `most_rows_within` rows are files of their own, which
/// index.html links, so that it stays small.
std::vector<TextFile> html_files(const Page& page);
inline constexpr std::size_t most_rows_within = 500;

/// The same in Markdown, README.md first; figures are links to `Figure::file`. Tables by layer are
/// separate files in layers/, and large tables of messages in messages/. README.md links them, and
/// each is small enough for a code host to show.
std::vector<TextFile> markdown(const Page& page);

/// Whether a file that begins with this text was written by html_files() or markdown(), of this
/// version or an earlier one.
bool is_page_text(std::string_view start);

}  // namespace dlscale::report
