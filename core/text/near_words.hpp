#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale {

/// The words that say the same as `word` in another way, in their order: "dgx_a100" for "A100-DGX",
/// else those that other tools call so, "f16" for "half".
std::vector<std::string> same_words(std::string_view word, std::span<const std::string> words);

/// The words that may be meant by `word`, in their order: those that say the same; else all that
/// begin with it, as "h100_pcie" and "h100_sxm" begin with "H100"; else those nearest by edit
/// distance, if they are near. Words with other numbers are never near: H200 is not a misspelt
/// H100. Ignores case.
std::vector<std::string> near_words(std::string_view word, std::span<const std::string> words);

/// "Did you mean "a" or "b"? "; empty without words.
std::string did_you_mean(std::span<const std::string> near);

}  // namespace dlscale
