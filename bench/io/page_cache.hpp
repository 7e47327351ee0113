#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace dlscale::bench {

/// Number of a file's pages in the page cache, and of all its pages.
struct Residency {
  std::int64_t pages = 0;
  std::int64_t cached = 0;
};

/// Counts by mincore(2). Throws ConfigError naming the file if it cannot be opened.
Residency residency(const std::filesystem::path& path);

/// Asks Linux to write a file's pages to the device and drop them from the page cache. Linux may
/// ignore it: check residency() and storage_bytes_read().
void evict(const std::filesystem::path& path);

/// Bytes that storage devices have delivered to this process, from read_bytes of /proc/self/io;
/// empty if the system does not report it.
std::optional<std::int64_t> storage_bytes_read(
    const std::filesystem::path& counters = "/proc/self/io");

}  // namespace dlscale::bench
