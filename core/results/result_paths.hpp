#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

namespace dlscale {

/// Whether a file is named so, ".jsonl", be it compressed (".jsonl.gz") or not.
bool is_named(const std::filesystem::path& path, std::string_view extension);

/// The result files (*.jsonl, *.jsonl.gz) in a folder and those below it, sorted: not the lists
/// that a run of cells keeps there, nor what cells that are under way have written. What cannot be
/// looked at, such as a link to itself, is among them, so that reading it tells. Throws ConfigError
/// for a folder that cannot be searched, and where a file is there twice, compressed and as it is.
std::vector<std::filesystem::path> result_paths(const std::filesystem::path& folder);

}  // namespace dlscale
