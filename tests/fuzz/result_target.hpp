#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::fuzz {

/// Result files as `bench` writes them, short, of several benchmarks.
std::vector<std::string> result_seeds();

/// Reads results and does with them what compare, report and calibrate do. Throws as Target::use.
void use_results(const std::filesystem::path& file);

}  // namespace dlscale::fuzz
