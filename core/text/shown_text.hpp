#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// Words of a user's file as a sentence may repeat them: on one line, with control characters as
/// \n, \t, \x1b or, of Unicode beyond ASCII, \u0085, and cut where they are long, by "…" and never
/// within a character of UTF-8. Control characters are also those that separate lines or paragraphs
/// or turn the direction of text round.
std::string shown_text(std::string_view text);

/// Whether text has no control character, line breaks among them.
bool is_plain_line(std::string_view text);

}  // namespace dlscale
