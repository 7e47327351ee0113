#pragma once
#include <span>
#include <string>
#include <string_view>

namespace dlscale {

/// A word quoted so that bash, zsh and other shells read it unchanged; quoted only if it has a
/// character that a shell might change.
std::string shell_word(std::string_view word);

/// Words joined by spaces as one shell line.
std::string shell_line(std::span<const std::string> words);

}  // namespace dlscale
