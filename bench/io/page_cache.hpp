#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace dlscale::bench {

/// The pages of a file in the page cache, and all it has.
struct Residency {
  std::int64_t pages = 0;
  std::int64_t cached = 0;
};

/// By mincore(2). Throws ConfigError naming the file if it cannot be opened.
Residency residency(const std::filesystem::path& path);

/// Asks Linux to drop a file's pages from the page cache, after writing them to the device. It need
/// not obey: look at residency() and storage_bytes_read().
void evict(const std::filesystem::path& path);

/// The bytes that storage devices delivered to this process so far, as Linux counts them
/// (read_bytes of /proc/self/io); nothing where it does not tell.
std::optional<std::int64_t> storage_bytes_read(
    const std::filesystem::path& counters = "/proc/self/io");

}  // namespace dlscale::bench
