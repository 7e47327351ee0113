#include "core/run/phrase_match.hpp"

#include <algorithm>
#include <cctype>

namespace dlscale {
namespace {

/// The parts of a phrase between its stars.
std::vector<std::string_view> between_stars(std::string_view phrase) {
  std::vector<std::string_view> parts;
  for (std::size_t star = phrase.find('*'); star != std::string_view::npos;
       star = phrase.find('*')) {
    parts.push_back(phrase.substr(0, star));
    phrase.remove_prefix(star + 1);
  }
  parts.push_back(phrase);
  return parts;
}

/// End of the first `part` in `text`, ignoring case; npos if there is none.
std::size_t end_in_any_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  const auto found = std::search(text.begin(), text.end(), part.begin(), part.end(), same);
  if (found == text.end()) return std::string_view::npos;
  return static_cast<std::size_t>(found - text.begin()) + part.size();
}

/// Number of letters of a phrase if `text` contains all its parts, with anything for stars; else 0.
std::size_t matched_letters(std::string_view text, std::string_view phrase) {
  std::size_t letters = 0;
  for (const std::string_view part : between_stars(phrase)) {
    const std::size_t end = end_in_any_case(text, part);
    if (end == std::string_view::npos) return 0;
    text.remove_prefix(end);
    letters += part.size();
  }
  return letters;
}

}  // namespace

std::vector<std::string> read_phrases(const ConfigMap& map, std::string_view key) {
  std::vector<std::string> phrases;
  if (map.has(key)) phrases = map.texts(key);
  for (const std::string& phrase : phrases) {
    for (const std::string_view part : between_stars(phrase)) {
      if (part.size() >= 3) continue;
      map.refuse(key, "with a part of less than three letters", "Write a longer one.");
    }
  }
  return phrases;
}

std::size_t longest_match(const std::vector<std::string>& phrases, std::string_view text) {
  std::size_t longest = 0;
  for (const std::string& phrase : phrases) {
    longest = std::max(longest, matched_letters(text, phrase));
  }
  return longest;
}

}  // namespace dlscale
