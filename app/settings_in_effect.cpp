#include "app/settings_in_effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include "core/shown_text.hpp"

namespace dlscale::app {
namespace {

std::vector<SetElsewhere>& in_effect() {
  static std::vector<SetElsewhere> set;
  return set;
}

bool counts(const SetElsewhere& one) {
  return one.obstacle.empty() && !one.words.empty();
}

/// By its words, as the option may be gone when a sentence is told. A flag's "yes" tells nothing.
bool is_flag(const SetElsewhere& one) {
  return one.words.front() == one.name;
}

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
}

/// Where `word` stands as a whole one; npos where it does not.
std::size_t find_word(std::string_view sentence, std::string_view word) {
  std::size_t found = sentence.find(word);
  while (found != std::string_view::npos) {
    const std::size_t end = found + word.size();
    const bool begins = found == 0 || !is_of_word(sentence[found - 1]);
    if (begins && (end == sentence.size() || !is_of_word(sentence[end]))) return found;
    found = sentence.find(word, found + 1);
  }
  return std::string_view::npos;
}

/// Behind the option's name in a sentence, which may be its letter; npos where neither stands.
std::size_t end_of_name(std::string_view sentence, const SetElsewhere& set) {
  for (const std::string& name : {set.name, set.letter}) {
    const std::size_t at = name.empty() ? std::string_view::npos : find_word(sentence, name);
    if (at != std::string_view::npos) return at + name.size();
  }
  return std::string_view::npos;
}

/// Line breaks and other control characters, of values that were set or of names of files, as \n or
/// \x1b. Nothing is cut: a sentence says what to do at its end.
std::string on_one_line(std::string_view sentence) {
  if (is_plain_line(sentence)) return std::string(sentence);
  std::string line;
  for (const char& letter : sentence) line += shown_text(std::string_view(&letter, 1));
  return line;
}

}  // namespace

void set_in_effect(std::span<const SetElsewhere> set) {
  in_effect().clear();
  std::ranges::copy_if(set, std::back_inserter(in_effect()), counts);
}

std::vector<std::string> words_in_effect() {
  std::vector<std::string> words;
  for (const SetElsewhere& one : in_effect()) {
    words.insert(words.end(), one.words.begin(), one.words.end());
  }
  return words;
}

std::string with_places(std::string_view sentence, std::span<const SetElsewhere> set) {
  constexpr std::size_t telling = 3;  // letters of a value that is no accident
  std::string told = on_one_line(sentence);
  std::string more;
  for (const SetElsewhere& one : set) {
    if (!counts(one)) continue;
    if (const std::size_t end = end_of_name(told, one); end != std::string::npos) {
      told.insert(end, fmt::format(" (set by {})", on_one_line(one.place)));
    } else if (!is_flag(one) && one.value.size() >= telling &&
               find_word(told, on_one_line(one.value)) != std::string::npos) {
      more += fmt::format(" {} is set by {}.", one.name, on_one_line(one.place));
    }
  }
  return told + more;
}

std::string with_places(std::string_view sentence) {
  return with_places(sentence, in_effect());
}

}  // namespace dlscale::app
