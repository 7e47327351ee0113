#include "core/text/escape_for_terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace dlscale {
namespace {

constexpr std::size_t most_shown_bytes = 120;

std::string_view cut(std::string_view text) {
  if (text.size() <= most_shown_bytes) return text;
  std::size_t end = most_shown_bytes;
  const auto continues = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  };
  while (end > 0 && continues(text[end])) --end;
  return text.substr(0, end);
}

/// A control character at the beginning of `text`, which must not appear in a message.
struct Control {
  std::size_t bytes = 0;  ///< in UTF-8; 0: there is none
  unsigned code = 0;
};

/// Control characters of ASCII; of Unicode those that terminals interpret as commands (U+0080 to
/// U+009F) and separators of lines and paragraphs. Also those that change the direction of text, so
/// that it misleads the reader.
Control control_at(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x20 || first == 0x7f) return {1, first};
  if (first == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return {2, byte(1)};
  const bool three = first == 0xe2 && byte(1) >= 0x80 && byte(1) < 0xc0 && byte(2) >= 0x80;
  const unsigned code = 0x2000U + (byte(1) & 0x3fU) * 0x40U + (byte(2) & 0x3fU);
  const bool separates = code == 0x2028 || code == 0x2029;
  const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return three && (separates || turns) ? Control{3, code} : Control{};
}

std::string escaped(const Control& control) {
  if (control.code == '\n') return "\\n";
  if (control.code == '\t') return "\\t";
  if (control.bytes == 1) return fmt::format("\\x{:02x}", control.code);
  return fmt::format("\\u{:04x}", control.code);
}

}  // namespace

std::string escape_for_terminal(std::string_view text) {
  const std::string_view kept = cut(text);
  std::string line;
  for (std::size_t i = 0; i < kept.size();) {
    const Control control = control_at(kept.substr(i));
    line += control.bytes == 0 ? std::string(1, kept[i]) : escaped(control);
    i += std::max<std::size_t>(1, control.bytes);
  }
  if (kept.size() < text.size()) line += "…";
  return line;
}

bool is_plain_line(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (control_at(text.substr(i)).bytes > 0) return false;
  }
  return true;
}

}  // namespace dlscale
