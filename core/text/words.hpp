#pragma once
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {

/// The parts of a text between separators, as views of it; the whole where the separator is
/// missing.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Name of an enum value in files, on command lines and in answers.
template <class Enum>
struct Word {
  Enum value;
  std::string_view name;
};

/// Names of an enum, in the order of its values, so that only the last can be missing unnoticed.
template <class Enum, std::size_t N>
using Words = std::array<Word<Enum>, N>;

template <class Enum, std::size_t N>
constexpr bool in_order(const Words<Enum, N>& words) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i].value != static_cast<Enum>(i)) return false;
  }
  return true;
}

template <class Enum, std::size_t N>
std::string_view name_of(Enum value, const Words<Enum, N>& words) {
  for (const Word<Enum>& word : words) {
    if (word.value == value) return word.name;
  }
  fail_expectation("every value of an enum has its word");
}

/// The value with that name. Throws ConfigError as parse_word() does.
template <class Enum, std::size_t N>
Enum value_of(std::string_view what, std::string_view name, const Words<Enum, N>& words) {
  std::vector<std::string> names;
  names.reserve(N);
  for (const Word<Enum>& word : words) {
    if (word.name == name) return word.value;
    names.emplace_back(word.name);
  }
  throw ConfigError(fmt::format("\"{}\" is not a {}. {}", escape_for_terminal(name), what,
                                suggestion(name, names)));
}

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
  throw ConfigError(fmt::format("\"{}\" is not a {}. {}", escape_for_terminal(word), what,
                                suggestion(word, words)));
}

}  // namespace dlscale
