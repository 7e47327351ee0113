#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace dlscale {

/// Maximum bytes of an inflated file: a few kilobytes of gzip can expand to any amount of memory.
inline constexpr std::size_t most_inflated_bytes = std::size_t{1} << 29U;

/// Reads a whole input file. A gzip file, which its first two bytes identify whatever its name, is
/// inflated. Throws ConfigError, which names the path and the reason and ends with `advice` (a
/// sentence on what to do), if the file is missing or unreadable. It also throws if the file is not
/// a regular file: reading a named pipe without a writer would never end. It throws for gzip that
/// is damaged, truncated, or larger than `most` bytes.
std::string read_input(const std::filesystem::path& path, std::string_view advice,
                       std::size_t most = most_inflated_bytes);

/// The first `bytes` bytes of the result of read_input(), to identify a file. Fewer for a shorter
/// file or damaged gzip, none if it cannot be read.
std::string read_beginning(const std::filesystem::path& path, std::size_t bytes);

/// The bytes of a file, or of one below /proc; empty if it cannot be read.
std::string content_of(const std::filesystem::path& path);

/// The first line of a file without trailing white space; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

/// Whether the file exists and begins like gzip.
bool is_gzip(const std::filesystem::path& path);

}  // namespace dlscale
