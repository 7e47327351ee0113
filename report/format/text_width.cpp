#include "report/format/text_width.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

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

/// Bytes of the character at the start of a text; 0 if it is not valid.
std::size_t character_size(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  std::uint32_t code = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool none = (code & 0xFFFEU) == 0xFFFEU || code > 0x10FFFF;
  return overlong || surrogate || none ? 0 : size;
}

}  // namespace

std::size_t width(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += continues(byte) ? 0 : 1;
  return count;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (width(text) <= most) return std::string(text);
  std::size_t end = 0;
  for (std::size_t columns = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && ++columns == most) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

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

std::string printable(std::string_view text) {
  std::string clean;
  for (const char byte : text) {
    const bool control = static_cast<unsigned char>(byte) < 0x20U || byte == 0x7F;
    clean += control ? ' ' : byte;
  }
  return clean;
}

std::string valid_utf8(std::string_view text) {
  const std::string clean = printable(text);
  std::string out;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t size = character_size(std::string_view(clean).substr(at));
    if (size == 0) {
      out += "\xEF\xBF\xBD";
      ++at;
    } else {
      out.append(clean, at, size);
      at += size;
    }
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  constexpr std::string_view special = "&<>\"'";
  constexpr std::array names{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string out;
  for (const char character : valid_utf8(text)) {
    const std::size_t found = special.find(character);
    out += found == special.npos ? std::string(1, character) : names.at(found);
  }
  return out;
}

}  // namespace dlscale::report::format
