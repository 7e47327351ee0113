#include "core/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dlscale {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

/// The Unicode Character Database's categories Cc, Zl, Zp and Cf, without visible signs of Cf.
constexpr std::array invisible{
    Range{0x00, 0x1F},       Range{0x7F, 0x9F},       Range{0xAD, 0xAD},
    Range{0x61C, 0x61C},     Range{0x180E, 0x180E},   Range{0x200B, 0x200F},
    Range{0x2028, 0x202E},   Range{0x2060, 0x206F},   Range{0xFEFF, 0xFEFF},
    Range{0xFFF9, 0xFFFB},   Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A},
    Range{0xE0000, 0xE007F},
};

/// Bytes of a character after this first byte, with it; 0 if none begins so.
std::size_t size_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
}

bool is_character(std::size_t size, char32_t code) {
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool none = (code & 0xFFFEU) == 0xFFFEU || code > 0x10FFFF;
  return !overlong && !surrogate && !none;
}

std::string escaped(const Character& character) {
  if (character.code == '\n') return "\\n";
  if (character.code == '\t') return "\\t";
  const auto code = static_cast<unsigned>(character.code);
  return character.bytes == 1 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Character invalid{1, byte(0), false, false};
  const std::size_t size = size_after(byte(0));
  if (size == 0 || text.size() < size) return invalid;
  char32_t code = size == 1 ? byte(0) : byte(0) & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return invalid;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  if (!is_character(size, code)) return invalid;
  const bool hidden = std::ranges::any_of(
      invisible, [code](const Range& each) { return code >= each.first && code <= each.last; });
  return {size, code, true, !hidden};
}

std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

std::string printable(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Character next = first_character(text);
    line += !next.valid ? "\xEF\xBF\xBD" : next.visible ? text.substr(0, next.bytes) : " ";
    text.remove_prefix(next.bytes);
  }
  return line;
}

std::string escape_unprintable(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Character next = first_character(text);
    line += next.visible ? std::string(text.substr(0, next.bytes)) : escaped(next);
    text.remove_prefix(next.bytes);
  }
  return line;
}

}  // namespace dlscale
