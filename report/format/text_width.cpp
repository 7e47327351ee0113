#include "report/format/text_width.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "core/base/printable.hpp"

namespace dlscale::report::format {

namespace {

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> spelled{{
    {"±", "+-"},  {"–", "-"},  {"—", "-"}, {"−", "-"},     {"×", "x"},
    {"≤", "<="},  {"≥", ">="}, {"µ", "u"}, {"α", "alpha"}, {"β", "beta"},
    {"…", "..."}, {"→", "->"}, {"·", "*"}, {"≈", "~"},     {"Δ", "Delta"},
    {"“", "\""},  {"”", "\""}, {"’", "'"}, {"─", "-"},     {"é", "e"},
}};

std::string_view spell(std::string_view character) {
  if (character.size() == 1 && !continues(character.front())) return character;
  for (const auto& [utf8, ascii] : spelled) {
    if (utf8 == character) return ascii;
  }
  return "?";
}

}  // namespace

std::string to_ascii(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    std::size_t size = 1;
    while (size < text.size() && continues(text[size])) ++size;
    ascii += spell(text.substr(0, size));
    text.remove_prefix(size);
  }
  return ascii;
}

std::string escape_markup(std::string_view text) {
  constexpr std::string_view special = "&<>\"'";
  constexpr std::array names{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string out;
  for (const char character : printable(text)) {
    const std::size_t found = special.find(character);
    out += found == special.npos ? std::string(1, character) : names.at(found);
  }
  return out;
}

}  // namespace dlscale::report::format
