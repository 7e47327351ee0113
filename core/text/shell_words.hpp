#pragma once
#include <span>
#include <string>
#include <string_view>

namespace dlscale {

/// A word as bash, zsh and other shells take it for that word and no other, quoted where it has a
/// character that any of them might change.
std::string shell_word(std::string_view word);

/// Words as one line of a shell, spaces between them.
std::string shell_line(std::span<const std::string> words);

}  // namespace dlscale
