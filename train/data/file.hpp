#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace dlscale::train {

/// Reads a whole file into `bytes`. Throws ConfigError naming it if it is missing, unreadable or
/// not a regular file.
void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& bytes);

/// Writes a file under a temporary name beside it and renames it. After a crash the file is either
/// complete or absent. Throws ConfigError if the folder is not writable or the disk is full.
void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);

}  // namespace dlscale::train
