#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/data/data.hpp"

namespace dlscale::train {

/// What manifest.json of a data set says: schema "dlscale.data_set" version 1, the names of the
/// classes, and of each picture path (relative to the folder), label and size in bytes. A set made
/// by dlscale also says from which spec, and of each picture the FNV-1a checksum of the file; a
/// manifest written for other pictures need not.
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

/// Where the manifest of a data set is.
std::filesystem::path manifest_path(const std::filesystem::path& root);

/// Throws ConfigError naming file and problem.
Manifest read_manifest(const std::filesystem::path& path);
void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

/// 64-bit FNV-1a   [Fowler, Noll & Vo]: tells an intact file from a damaged one, not from a forged.
std::uint64_t checksum(std::span<const std::uint8_t> bytes);

}  // namespace dlscale::train
