#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {

/// Outcome of one input.
struct Outcome {
  bool used = false;       ///< read and used; else refused
  std::string sentence{};  ///< the reason of a refusal
  std::string fault{};     ///< empty: as it has to be
};

/// Writes the text to `file` and lets the target use it. A fault is a refusal that is not one plain
/// sentence of an Error, another exception, or more than `longest_s` of processor time.
Outcome try_input(const Target& target, const std::filesystem::path& file, std::string_view text);

/// Inputs that once failed, which tests/fuzz/corpus keeps in a folder of the target's name.
std::vector<std::string> kept_inputs(const Target& target);

/// A folder in memory where the system has one, else a temporary one. The caller removes it.
std::filesystem::path make_folder();

const Target* find_target(std::string_view name);

}  // namespace dlscale::fuzz
