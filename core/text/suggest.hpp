#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// Suggestions for a word that is not allowed.

/// Edit distance: the fewest letters to insert, remove, replace or swap with a neighbour that turn
/// `a` into `b`, ignoring case. Words longer than 256 bytes count as different in all letters.
int edit_distance(std::string_view a, std::string_view b);

/// `words` ordered by similarity to `word`.
std::vector<std::string> nearest_first(std::string_view word, std::span<const std::string> words);

/// "Did you mean "stride"? Allowed: kernel, stride, …."; without a similar word, only the second
/// part.
std::string suggestion(std::string_view word, std::span<const std::string> words);

}  // namespace dlscale
