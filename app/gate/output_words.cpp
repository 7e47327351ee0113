#include "app/gate/output_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace dlscale::app {
namespace {

/// Whether the next word is the output file.
bool is_option(std::string_view word) {
  constexpr std::array<std::string_view, 3> names{"-o", "--output", "--out"};
  return std::ranges::find(names, word) != names.end();
}

/// Whether the word contains the output file: "-oFILE", "--output=FILE". Other options with one
/// dash do not begin with "-o".
bool holds_output(std::string_view word) {
  return !is_option(word) &&
         (word.starts_with("-o") || word.starts_with("--output=") || word.starts_with("--out="));
}

}  // namespace

bool names_output(const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return is_option(word) || holds_output(word); });
}

std::vector<std::string> without_output(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_option(words[i])) {
      ++i;
    } else if (!holds_output(words[i])) {
      kept.push_back(words[i]);
    }
  }
  return kept;
}

}  // namespace dlscale::app
