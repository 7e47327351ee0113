#include "core/text/shell_words.hpp"

namespace dlscale {
namespace {

/// Whether all characters are known to have no meaning to a shell. A list of those with a meaning
/// would not end: braces and ^ have one for some shells, a leading = for zsh.
bool is_plain(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  return !word.empty() && word.front() != '=' &&
         word.find_first_not_of(plain) == std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (is_plain(word)) return std::string(word);
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  text += '\'';
  return text;
}

std::string shell_line(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

}  // namespace dlscale
