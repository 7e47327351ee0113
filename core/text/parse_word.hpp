#pragma once
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {

/// The value among `all` that `name_of` calls `word`. Throws ConfigError naming what is allowed:
/// "rnig" is not a <what>. Did you mean "ring"? ….
template <class Enum, std::size_t N>
Enum parse_word(std::string_view what, std::string_view word, const std::array<Enum, N>& all,
                std::string_view (*name_of)(Enum)) {
  std::vector<std::string> words;
  words.reserve(N);
  for (const Enum value : all) {
    if (name_of(value) == word) return value;
    words.emplace_back(name_of(value));
  }
  throw ConfigError(
      fmt::format("\"{}\" is not a {}. {}", shown_text(word), what, suggestion(word, words)));
}

}  // namespace dlscale
