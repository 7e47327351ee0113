#pragma once
#include <filesystem>
#include <string_view>

namespace dlscale {

/// Functions for files that must survive a crash of the machine once the functions have returned.

/// Writes a file atomically and creates its folder. Throws ConfigError.
void write_for_good(const std::filesystem::path& path, std::string_view text);

/// Flushes all files in a folder and its subfolders to the disk. Throws ConfigError.
void sync_tree(const std::filesystem::path& folder);

/// Renames a folder, after sync_tree(), to its final name in one step. Returns false, and changes
/// nothing, if a folder of that name already holds files. Throws ConfigError.
[[nodiscard]] bool move_for_good(const std::filesystem::path& folder,
                                 const std::filesystem::path& name);

/// Why a folder does not accept a new file; empty if it does.
std::string write_problem(const std::filesystem::path& folder);

/// Creates a folder and its parents. Throws ConfigError.
void make_folder(const std::filesystem::path& folder);

}  // namespace dlscale
