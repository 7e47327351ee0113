#pragma once
#include <cstddef>
#include <optional>

namespace dlscale {

/// Columns of the terminal behind a file descriptor now, since windows change their size; nothing
/// where there is none, or it does not say.
std::optional<std::size_t> terminal_width(int file_descriptor);

/// Columns of the lines of a text for people: those of the terminal, or, where there is none, of
/// the variable COLUMNS; at least 40 and at most 100, which is usual.
std::size_t line_width(int file_descriptor);

}  // namespace dlscale
