#pragma once
#include <filesystem>
#include <string_view>

namespace dlscale {

/// open(2) for writing, with `flags` in addition to O_WRONLY, O_CREAT and O_CLOEXEC. On failure
/// returns a negative value, with the reason in errno. Does not block where open(2) would: a named
/// pipe without a reader, or a socket, throws ConfigError.
int open_output(const std::filesystem::path& path, int flags);

/// Writes all of `content` to an open descriptor, even if write(2) writes a part or is interrupted.
/// Returns 0 or errno.
[[nodiscard]] int write_all(int descriptor, std::string_view content);

/// Writes `content` to a file atomically: a temporary file beside it, with the same permissions, is
/// flushed to the disk and renamed. Links are followed. Other targets than files (a device, a pipe)
/// are written directly; the file that standard output goes to is appended to. Does not create
/// folders. Returns 0 or errno. Throws ConfigError as open_output().
[[nodiscard]] int write_whole(const std::filesystem::path& path, std::string_view content);

/// Whether write_whole() could write there, even if its folder does not exist yet. Creates and
/// removes an empty file at the place of the temporary file. Returns 0 or errno.
[[nodiscard]] int try_to_write(const std::filesystem::path& path);

/// Checks a file that is opened several times, first as a test. Throws ConfigError, which starts
/// with `what` ("--benchmark_out=pipe"), for a pipe or a socket, whose reader would stop at the
/// first end. Also throws for the file that standard output already goes to, since each would
/// overwrite the other. A missing file passes, and so do devices such as /dev/null.
void refuse_shared_output(const std::filesystem::path& path, std::string_view what);

}  // namespace dlscale
