#pragma once
#include <filesystem>
#include <vector>

namespace dlscale {

/// The result files (*.jsonl) in a folder and those below it, sorted: not the lists that a run of
/// cells keeps there, nor what cells that are under way have written. What cannot be looked at,
/// such as a link to itself, is among them, so that reading it tells. Throws ConfigError for a
/// folder that cannot be searched.
std::vector<std::filesystem::path> result_paths(const std::filesystem::path& folder);

}  // namespace dlscale
