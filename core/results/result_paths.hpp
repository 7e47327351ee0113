#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

namespace dlscale {

/// Whether a file name ends in `extension`, ".jsonl", with or without compression (".jsonl.gz").
bool is_named(const std::filesystem::path& path, std::string_view extension);

/// The result files (*.jsonl, *.jsonl.gz) in a folder and its subfolders, sorted. Lists of a run of
/// cells and files of unfinished cells are not among them. Inaccessible paths, such as a link to
/// itself, are included, so that reading them reports the error. Throws ConfigError for a folder
/// that cannot be searched, and if a file exists twice, compressed and uncompressed.
std::vector<std::filesystem::path> result_paths(const std::filesystem::path& folder);

}  // namespace dlscale
