#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/data/data.hpp"

namespace dlscale::train {

/// Contents of a data set's manifest.json: schema "dlscale.data_set" version 1, the names of the
/// classes, and per picture its path (relative to the folder), label and size in bytes. A set made
/// by dlscale also has its spec and the FNV-1a checksum of each file. Manifests of other pictures
/// may omit both.
struct Manifest {
  struct Entry {
    std::string path;
    std::int32_t label = 0;
    std::int64_t bytes = 0;
    std::uint64_t checksum = 0;
  };
  std::optional<DataSetSpec> spec;
  std::vector<std::string> classes;
  std::vector<Entry> pictures;
};

/// Path of a data set's manifest.
std::filesystem::path manifest_path(const std::filesystem::path& root);

/// Throws ConfigError naming the file and the problem.
Manifest read_manifest(const std::filesystem::path& path);
void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

/// 64-bit FNV-1a   [Fowler, Noll & Vo]: detects damaged files, not forged ones.
std::uint64_t checksum(std::span<const std::uint8_t> bytes);

}  // namespace dlscale::train
