#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale::report::format {

/// Number of characters of a UTF-8 text: one column each, which holds for the alphabets used here.
std::size_t width(std::string_view text);

/// The text, cut to `most` columns with a final "…" if it is longer; most >= 1.
std::string shortened(std::string_view text, std::size_t most);

/// The text in ASCII: spells out ±, –, ×, Greek letters and the like; anything else becomes '?'.
std::string to_ascii(std::string_view text);

/// The text as of printable(), escaped for HTML and XML: for an element or a quoted attribute.
std::string escape_markup(std::string_view text);

}  // namespace dlscale::report::format
