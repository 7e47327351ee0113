#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace dlscale::train {

/// Reads a whole file into `bytes`. Throws ConfigError naming it if it is missing, unreadable or no
/// regular file.
void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& bytes);

/// Writes a file under a temporary name beside it and renames it: after a crash it is there as a
/// whole or not at all. Throws ConfigError if the place cannot be written or is full.
void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);

}  // namespace dlscale::train
