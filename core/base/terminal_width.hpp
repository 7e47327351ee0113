#pragma once
#include <cstddef>
#include <optional>

namespace dlscale {

/// Columns of the terminal behind a file descriptor now, since windows change their size; nothing
/// where there is none, or it does not say.
std::optional<std::size_t> terminal_width(int file_descriptor);

/// Columns of the lines of a text for people: those of the terminal, at least 40 and at most 100;
/// 100 where there is none.
std::size_t line_width(int file_descriptor);

}  // namespace dlscale
