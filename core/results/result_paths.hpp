#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace dlscale {

/// Whether a file name ends in `extension`, ".jsonl", with or without compression (".jsonl.gz").
bool is_named(const std::filesystem::path& path, std::string_view extension);

/// Says what to do if a result file cannot be read.
inline constexpr std::string_view advice_on_results =
    "Check the path; results end in .jsonl or .jsonl.gz.";

/// The files below a folder whose names end in one of these, as is_named() says, sorted. Passes
/// over subfolders that cannot be searched.
std::vector<std::filesystem::path> named_paths(const std::filesystem::path& folder,
                                               std::span<const std::string_view> extensions);

/// The result files (*.jsonl, *.jsonl.gz) in a folder and its subfolders, sorted. Lists of a run of
/// cells and files of unfinished cells are not among them. Inaccessible paths, such as a link to
/// itself, are included, so that reading them reports the error. Throws ConfigError for a folder
/// that cannot be searched, and if a file exists twice, compressed and uncompressed.
std::vector<std::filesystem::path> result_paths(const std::filesystem::path& folder);

}  // namespace dlscale
