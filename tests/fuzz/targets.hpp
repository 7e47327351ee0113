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

}  // namespace dlscale::fuzz
