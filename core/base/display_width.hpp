#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale {

/// Columns that a terminal shows a UTF-8 text in: two for a Chinese, Japanese or Korean character
/// and for an emoji, none for a combining mark, one for most others and for an invalid byte.
/// Emojis that a joiner makes one count once.
std::size_t display_width(std::string_view text);

/// The text if it fits into `most` columns, else its beginning and "…", which fit.
std::string cut_to_width(std::string_view text, std::size_t most);

/// The text in lines of at most `width` columns, each further one behind `indent` more blanks.
/// Lines break at blanks, and after commas of a word that is wider. Line breaks of the text itself
/// stay.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace dlscale
