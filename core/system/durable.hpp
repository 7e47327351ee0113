#pragma once
#include <filesystem>
#include <string_view>

namespace dlscale {

/// Files that outlive a crash of the machine once these functions have returned.

/// Writes a file whole or not at all, and makes its folder. Throws ConfigError.
void write_for_good(const std::filesystem::path& path, std::string_view text);

/// Makes sure of all files in a folder and those below it. Throws ConfigError.
void sync_tree(const std::filesystem::path& folder);

/// Gives a folder that sync_tree() has seen to its name, in one step. Returns false, and leaves
/// both as they are, where something of that name holds files already. Throws ConfigError.
[[nodiscard]] bool move_for_good(const std::filesystem::path& folder,
                                 const std::filesystem::path& name);

/// Why a folder takes no new file; empty if it does.
std::string write_problem(const std::filesystem::path& folder);

/// Makes a folder and those above it. Throws ConfigError.
void make_folder(const std::filesystem::path& folder);

}  // namespace dlscale
