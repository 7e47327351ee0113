#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/family.hpp"
#include "report/table/table.hpp"

namespace dlscale::report::format {

/// Capabilities of a terminal.
enum class Colour { none, ansi };
enum class Charset { ascii, utf8 };

/// Capabilities of the reader's terminal; only the format "table" uses them.
struct Terminal {
  Colour colour = Colour::none;
  Charset charset = Charset::utf8;
  std::size_t width = 100;  ///< columns of lines, as far as tables can
  bool draws = false;       ///< whether curves are drawn: a terminal that shows UTF-8
};

/// Colour choice on the command line. `automatic` means colour on a terminal whose TERM is not
/// "dumb", if NO_COLOR is unset or empty (no-color.org). The command line overrides NO_COLOR.
enum class ColourChoice { automatic, always, never };

/// The terminal behind a file descriptor, with its line_width(). UTF-8 according to the first of
/// LC_ALL, LC_CTYPE and LANG that is set.
Terminal detect_terminal(int file_descriptor, ColourChoice choice = ColourChoice::automatic);

/// A way to print a document; its name is the word after --format.
struct Format {
  std::string_view name;
  std::string_view doc;
  /// Output ends in a newline.
  std::string (*write)(const Document& document, const Terminal& terminal);
};

/// The format called `name`. Throws ConfigError that lists the known names.
const Format& find_format(std::string_view name);

/// Kind of a document in any format: the schema of its JSON, for example "dlscale.prediction".
std::string kind_of(const Document& document);

/// The same as part of a name: "dlscale_prediction".
std::string plain_kind_of(const Document& document);

/// Index of the column with that heading in the records.
std::optional<std::size_t> column_of(const Table& table, std::string_view heading);

}  // namespace dlscale::report::format
