#include "core/text/utf8_text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace dlscale {
namespace {

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

enum class ByteOrder { little, big };

/// Byte order of UTF-16, by its mark or by the zero bytes of four first letters. Nothing for other
/// text.
std::optional<ByteOrder> utf16_order(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xFE")) return ByteOrder::little;
  if (bytes.starts_with("\xFE\xFF")) return ByteOrder::big;
  constexpr std::size_t seen = 8;
  if (bytes.size() < seen) return std::nullopt;
  bool little = true;
  bool big = true;
  for (std::size_t i = 0; i < seen; i += 2) {
    little = little && bytes[i] != '\0' && bytes[i + 1] == '\0';
    big = big && bytes[i] == '\0' && bytes[i + 1] != '\0';
  }
  if (little) return ByteOrder::little;
  return big ? std::optional(ByteOrder::big) : std::nullopt;
}

void append_utf8(std::uint32_t letter, std::string& text) {
  const auto add = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (letter < 0x80) return add(letter);
  if (letter < 0x800) {
    add(0xC0U | (letter >> 6U));
  } else {
    if (letter < 0x10000) {
      add(0xE0U | (letter >> 12U));
    } else {
      add(0xF0U | (letter >> 18U));
      add(0x80U | ((letter >> 12U) & 0x3FU));
    }
    add(0x80U | ((letter >> 6U) & 0x3FU));
  }
  add(0x80U | (letter & 0x3FU));
}

/// A last odd byte is dropped.
std::string from_utf16(std::string_view bytes, ByteOrder order) {
  const auto unit = [&](std::size_t i) -> std::uint32_t {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const auto second = static_cast<unsigned char>(bytes[i + 1]);
    return order == ByteOrder::little ? first + 256U * second : 256U * first + second;
  };
  constexpr std::uint32_t replacement = 0xFFFD;
  std::string text;
  text.reserve(bytes.size() / 2);
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const std::uint32_t high = unit(i);
    if (high < 0xD800 || high > 0xDFFF) {
      append_utf8(high, text);
      continue;
    }
    const std::uint32_t low = i + 3 < bytes.size() ? unit(i + 2) : 0;
    const bool is_pair = high < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF;
    append_utf8(is_pair ? 0x10000 + ((high - 0xD800) << 10U) + (low - 0xDC00) : replacement, text);
    if (is_pair) i += 2;
  }
  return text;
}

/// Drops the marks at the start of lines.
std::string without_marks(std::string text) {
  std::size_t mark = text.find(utf8_mark);
  if (mark == std::string::npos) return text;
  std::string kept;
  std::size_t from = 0;
  for (; mark != std::string::npos; mark = text.find(utf8_mark, mark + 1)) {
    if (mark > 0 && text[mark - 1] != '\n' && mark != from) continue;
    kept.append(text, from, mark - from);
    from = mark + utf8_mark.size();
  }
  return kept.append(text, from, std::string::npos);
}

}  // namespace

std::string utf8_text(std::string bytes) {
  if (const std::optional<ByteOrder> order = utf16_order(bytes)) {
    bytes = from_utf16(bytes, *order);
  }
  return without_marks(std::move(bytes));
}

}  // namespace dlscale
