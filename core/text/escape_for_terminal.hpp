#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// A text of a user's file, escaped for messages: on one line, with control characters as \n, \t,
/// \x1b or, for Unicode beyond ASCII, \u0085. Long text is cut by "…", never within a UTF-8
/// character. Separators of lines and paragraphs and changes of text direction count as control
/// characters.
std::string escape_for_terminal(std::string_view text);

/// Whether the text may be shown as it is: one line without control characters, marks of direction
/// and characters without width.
bool is_plain_line(std::string_view text);

}  // namespace dlscale
