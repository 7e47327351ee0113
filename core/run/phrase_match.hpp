#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"

namespace dlscale {

/// Reads a list of phrases for longest_match(); empty where the file has no such key. Throws
/// ConfigError for a part of less than three letters, which nearly every text contains.
std::vector<std::string> read_phrases(const ConfigMap& map, std::string_view key);

/// Number of letters of the longest phrase that `text` contains, ignoring case; 0 if it contains
/// none. A * in a phrase stands for anything and does not count.
std::size_t longest_match(const std::vector<std::string>& phrases, std::string_view text);

}  // namespace dlscale
