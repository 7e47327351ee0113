#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale {

/// Text of others, made safe to show: in tables, pages, comments, XML, OpenMetrics and messages.
/// Unsafe are bytes that are not UTF-8, and characters that act on a terminal or deceive a reader:
/// - control characters (C0, DEL, and U+0080 to U+009F, which terminals take as commands);
/// - separators of lines and paragraphs (U+2028, U+2029);
/// - marks that change the direction of text, and characters without width.

/// A character of a text.
struct Character {
  std::size_t bytes = 1;
  char32_t code = 0;    ///< of an invalid byte, the byte
  bool valid = true;    ///< whether it is UTF-8, and no surrogate or non-character
  bool visible = true;  ///< whether it may be shown
};

/// The first character of a text that is not empty.
Character first_character(std::string_view text);

/// The text on one line: unsafe characters become blanks, and each invalid byte U+FFFD.
std::string printable(std::string_view text);

/// The text on one line: unsafe characters and invalid bytes as \n, \t, \x1b or \u202e.
std::string escape_unprintable(std::string_view text);

/// At most so many bytes of the text, from its beginning; never a part of a character.
std::string_view beginning_of(std::string_view text, std::size_t most);

}  // namespace dlscale
