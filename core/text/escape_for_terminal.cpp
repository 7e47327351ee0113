#include "core/text/escape_for_terminal.hpp"

#include <cstddef>

#include "core/base/printable.hpp"

namespace dlscale {

std::string escape_for_terminal(std::string_view text) {
  constexpr std::size_t most_shown_bytes = 120;
  const std::string_view kept = beginning_of(text, most_shown_bytes);
  return escape_unprintable(kept) + (kept.size() < text.size() ? "…" : "");
}

bool is_plain_line(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_character(text);
    if (!next.visible) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

}  // namespace dlscale
