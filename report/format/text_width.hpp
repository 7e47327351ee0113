#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale::report::format {

/// Characters of a UTF-8 text: one column each, which holds for the alphabets used here.
std::size_t width(std::string_view text);

/// The text, or as much of its beginning as leaves room for "…" in `most` columns; most >= 1.
std::string shortened(std::string_view text, std::size_t most);

/// The text in ASCII: ±, –, ×, Greek letters and the like spelled out, anything else as '?'.
std::string to_ascii(std::string_view text);

/// The text without control characters, so that a hostile name cannot drive a terminal.
std::string printable(std::string_view text);

}  // namespace dlscale::report::format
