#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace dlscale {

/// Bytes that a compressed file may inflate to: a few kilobytes of gzip can claim any amount of
/// memory.
inline constexpr std::size_t most_inflated_bytes = std::size_t{1} << 29U;

/// Reads a file that is given as input, whole. A file of gzip counts as what it inflates to; its
/// first two bytes tell, whatever its name. Throws ConfigError, which names the path and the reason
/// and ends with `advice` (a sentence on what to do), where the file is missing or cannot be read,
/// and where it is no regular file: a named pipe that nobody writes would be waited for without
/// end. Throws ConfigError also for gzip that is damaged, cut short, or larger than `most` bytes.
std::string read_input(const std::filesystem::path& path, std::string_view advice,
                       std::size_t most = most_inflated_bytes);

/// The first `bytes` of what read_input() would return, to see what a file is: fewer of a shorter
/// file or of damaged gzip, none where it cannot be read.
std::string read_beginning(const std::filesystem::path& path, std::size_t bytes);

/// Whether the file is there and begins as gzip does.
bool is_gzip(const std::filesystem::path& path);

}  // namespace dlscale
