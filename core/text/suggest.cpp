#include "core/text/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

bool same_letter(char a, char b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return lower(a) == lower(b);
}

/// Longer words may contain more typing errors.
bool is_near(std::string_view word, std::string_view candidate) {
  const int longest = static_cast<int>(std::max(word.size(), candidate.size()));
  return edit_distance(word, candidate) <= std::max(1, longest / 3);
}

/// Escapes words of a file, which may contain characters that would break a message.
std::vector<std::string> shown(std::span<const std::string> words) {
  std::vector<std::string> each;
  std::ranges::transform(words, std::back_inserter(each), escape_for_terminal);
  return each;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> cost((a.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return cost[i * columns + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + replace});
      const bool swapped =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return cost.back();
}

std::vector<std::string> nearest_first(std::string_view word, std::span<const std::string> words) {
  std::vector<std::string> ordered(words.begin(), words.end());
  std::stable_sort(ordered.begin(), ordered.end(), [&](const auto& a, const auto& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  return ordered;
}

std::string suggestion(std::string_view word, std::span<const std::string> words) {
  if (words.empty()) return "None is allowed here.";
  constexpr std::size_t most_shown = 16;
  std::vector<std::string> ordered = nearest_first(word, words);
  const std::string nearest = ordered.front();
  std::string allowed = fmt::format("Allowed: {}.", fmt::join(shown(words), ", "));
  if (words.size() > most_shown) {
    ordered.resize(most_shown);
    allowed = fmt::format("Allowed: {}, and {} more.", fmt::join(shown(ordered), ", "),
                          words.size() - most_shown);
  }
  if (!is_near(word, nearest)) return allowed;
  return fmt::format("Did you mean \"{}\"? {}", escape_for_terminal(nearest), allowed);
}

}  // namespace dlscale
