#include "report/format/utf8.hpp"

#include <cstddef>
#include <cstdint>

#include "report/format/text_width.hpp"

namespace dlscale::report::format {
namespace {

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

}  // namespace dlscale::report::format
