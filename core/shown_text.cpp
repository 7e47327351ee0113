#include "core/shown_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace dlscale {
namespace {

constexpr std::size_t most_bytes = 120;

std::string_view cut(std::string_view text) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  const auto continues = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  };
  while (end > 0 && continues(text[end])) --end;
  return text.substr(0, end);
}

bool is_control(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code < 0x20 || code == 0x7f;
}

std::string escaped(char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  if (is_control(byte)) return fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return {byte};
}

}  // namespace

std::string shown_text(std::string_view text) {
  const std::string_view kept = cut(text);
  std::string line;
  for (const char byte : kept) line += escaped(byte);
  if (kept.size() < text.size()) line += "…";
  return line;
}

bool is_plain_line(std::string_view text) {
  return std::ranges::none_of(text, is_control);
}

}  // namespace dlscale
