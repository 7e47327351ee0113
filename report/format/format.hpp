#pragma once
#include <string>
#include <string_view>

#include "core/base/family.hpp"
#include "report/table/table.hpp"

namespace dlscale::report::format {

/// What a terminal can show.
enum class Colour { none, ansi };
enum class Charset { ascii, utf8 };

/// What the reader's terminal can show; only the format "table" looks at it.
struct Terminal {
  Colour colour = Colour::none;
  Charset charset = Charset::utf8;
};

/// What was asked for on the command line. `automatic`: colour on a terminal whose TERM is not
/// "dumb" and where NO_COLOR is unset or empty, which a command line overrides (no-color.org).
enum class ColourChoice { automatic, always, never };

/// The terminal behind a file descriptor. UTF-8 by LC_ALL, LC_CTYPE or LANG, whichever is set
/// first.
Terminal detect_terminal(int file_descriptor, ColourChoice choice = ColourChoice::automatic);

/// A way to print a document: the word after --format.
struct Format {
  std::string_view name;
  std::string_view doc;
  std::string (*write)(const Document& document, const Terminal& terminal);  ///< ends in a newline
};

/// The format called `name`; throws ConfigError that lists the names there are.
const Format& find_format(std::string_view name);

}  // namespace dlscale::report::format

namespace dlscale {
template <>
Family<report::format::Format> family<report::format::Format>();
}  // namespace dlscale
