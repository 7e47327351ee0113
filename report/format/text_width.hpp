#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale::report::format {

/// The text in ASCII: spells out ±, –, ×, Greek letters and the like; anything else becomes '?'.
std::string to_ascii(std::string_view text);

/// The text as of printable(), escaped for HTML and XML: for an element or a quoted attribute.
std::string escape_markup(std::string_view text);

}  // namespace dlscale::report::format
