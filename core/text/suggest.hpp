#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// Help for a word that is not among those allowed.

/// The least number of letters to insert, remove, replace or swap with a neighbour that turns `a`
/// into `b`, upper and lower case alike.
int edit_distance(std::string_view a, std::string_view b);

/// `words` ordered by their likeness to `word`.
std::vector<std::string> nearest_first(std::string_view word, std::span<const std::string> words);

/// "Did you mean "stride"? Allowed: kernel, stride, …." or, where nothing is near, the second part
/// alone.
std::string suggestion(std::string_view word, std::span<const std::string> words);

}  // namespace dlscale
