#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::fuzz {

/// A file of each format that a history takes.
std::vector<std::string> history_seeds();
/// Reads one and writes and reads its keys and points as a history would.
void use_history(const std::filesystem::path& file);

}  // namespace dlscale::fuzz
