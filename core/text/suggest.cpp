#include "core/text/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>

#include "core/text/escape_for_terminal.hpp"
#include "core/text/near_words.hpp"

namespace dlscale {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool same_letter(char a, char b) {
  return lower(a) == lower(b);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Lower case, with one mark between parts: "RTX 4090" is "rtx_4090".
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word) text += c == ' ' || c == '-' ? '_' : lower(c);
  return text;
}

/// Whether the word begins so, without cutting a number: "a100" does not begin with "a10".
bool begins_with(std::string_view word, std::string_view beginning) {
  constexpr std::size_t least = 3;
  const std::size_t end = beginning.size();
  if (end < least || end >= word.size() || !word.starts_with(beginning)) return false;
  return !is_digit(word[end]) || !is_digit(beginning.back());
}

/// Whether a letter alone was left out at the end: "rank" for "ranks".
bool lacks_one_letter(std::string_view word, std::string_view candidate) {
  return candidate.size() == word.size() + 1 && candidate.starts_with(word) &&
         !is_digit(candidate.back());
}

/// Whether two words cannot be one misspelt, since they have other numbers: neither the same digits
/// in another order, nor digits that one of them lacks at the end.
bool have_other_numbers(std::string_view a, std::string_view b) {
  std::string digits_a;
  std::string digits_b;
  std::ranges::copy_if(a, std::back_inserter(digits_a), is_digit);
  std::ranges::copy_if(b, std::back_inserter(digits_b), is_digit);
  if (digits_a.starts_with(digits_b) || digits_b.starts_with(digits_a)) return false;
  return !std::ranges::is_permutation(digits_a, digits_b);
}

/// Longer words may contain more typing errors.
int most_errors(std::string_view word, std::string_view candidate) {
  return std::max(1, static_cast<int>(std::max(word.size(), candidate.size())) / 3);
}

/// Escapes words of a file, which may contain characters that would break a message.
std::vector<std::string> shown(std::span<const std::string> words) {
  std::vector<std::string> each;
  std::ranges::transform(words, std::back_inserter(each), escape_for_terminal);
  return each;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t longest = 256;  // the work is the product of the sizes
  if (a.size() > longest || b.size() > longest) {
    const std::size_t most = std::max(a.size(), b.size());
    return static_cast<int>(std::min<std::size_t>(most, std::numeric_limits<int>::max()));
  }
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
  std::multimap<int, std::string> by_distance;  // equal ones in their order
  for (const std::string& each : words) by_distance.emplace(edit_distance(word, each), each);
  std::vector<std::string> ordered;
  for (const auto& [distance, each] : by_distance) ordered.push_back(each);
  return ordered;
}

std::vector<std::string> near_words(std::string_view word, std::span<const std::string> words) {
  const std::string wanted = plain(word);
  std::vector<std::string> near;
  bool is_slip = false;
  for (const std::string& candidate : words) {
    if (begins_with(plain(candidate), wanted)) near.push_back(candidate);
    is_slip = is_slip || lacks_one_letter(wanted, plain(candidate));
  }
  if (!near.empty() && !is_slip) return near;
  near.clear();
  int least = std::numeric_limits<int>::max();
  for (const std::string& candidate : words) {
    const int errors = edit_distance(wanted, plain(candidate));
    if (errors > most_errors(wanted, candidate) || errors > least) continue;
    if (have_other_numbers(wanted, candidate)) continue;
    if (errors < least) near.clear();
    least = errors;
    near.push_back(candidate);
  }
  return near;
}

std::string did_you_mean(std::span<const std::string> near) {
  if (near.empty()) return {};
  std::vector<std::string> quoted;
  for (const std::string& word : shown(near)) quoted.push_back(fmt::format("\"{}\"", word));
  const std::string last = quoted.back();
  quoted.pop_back();
  return fmt::format("Did you mean {}{}{}? ", fmt::join(quoted, ", "), quoted.empty() ? "" : " or ",
                     last);
}

std::string suggestion(std::string_view word, std::span<const std::string> words) {
  if (words.empty()) return "None is allowed here.";
  constexpr std::size_t most_shown = 16;
  std::vector<std::string> ordered = nearest_first(word, words);
  std::string allowed = fmt::format("Allowed: {}.", fmt::join(shown(words), ", "));
  if (words.size() > most_shown) {
    ordered.resize(most_shown);
    allowed = fmt::format("Allowed: {}, and {} more.", fmt::join(shown(ordered), ", "),
                          words.size() - most_shown);
  }
  return did_you_mean(near_words(word, words)) + allowed;
}

}  // namespace dlscale
