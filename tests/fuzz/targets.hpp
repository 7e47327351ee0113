#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::fuzz {

/// A kind of file that users write: what is damaged, and what is done with it.
struct Target {
  std::string_view name;       ///< "cluster"
  std::string_view extension;  ///< ".yaml"
  /// Whole files, which are read and used as they are.
  std::vector<std::string> (*seeds)();
  /// Reads a file and uses what it says, as the program would. Throws ConfigError if the file is
  /// refused, std::logic_error if what comes of it is no finite time ≥ 0.
  void (*use)(const std::filesystem::path& file);
  /// Of the inputs asked for, one in so many is tried: more where each takes long.
  std::size_t one_in = 1;
};

std::span<const Target> targets();

/// Result files as `bench` writes them, short, of several benchmarks.
std::vector<std::string> result_seeds();
/// Reads results and does with them what compare, report and calibrate do.
void use_results(const std::filesystem::path& file);

/// A file of each format that a history takes.
std::vector<std::string> history_seeds();
/// Reads one and writes and reads its keys and points as a history would.
void use_history(const std::filesystem::path& file);

}  // namespace dlscale::fuzz
