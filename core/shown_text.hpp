#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// Words of a user's file as a sentence may repeat them: on one line, with control characters as
/// \n, \t or \x1b, and cut where they are long, by "…" and never within a character of UTF-8.
std::string shown_text(std::string_view text);

/// Whether text has no control character, line breaks among them.
bool is_plain_line(std::string_view text);

}  // namespace dlscale
