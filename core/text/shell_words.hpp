#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dlscale {

/// A word quoted so that bash, zsh and other shells read it unchanged; quoted only if it has a
/// character that a shell might change.
std::string shell_word(std::string_view word);

/// Words joined by spaces as one shell line.
std::string shell_line(std::span<const std::string> words);

/// `text` with `with` in place of each `what`, which must not be empty. Inserted text is not
/// searched again.
inline std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

}  // namespace dlscale
