#pragma once
#include <filesystem>
#include <string_view>

namespace dlscale {

/// open(2) for writing, with `flags` beside O_WRONLY, O_CREAT and O_CLOEXEC; below 0, with the
/// reason in errno, if that fails. Does not wait where open(2) would: a named pipe that no program
/// reads, or a socket, throws ConfigError.
int open_output(const std::filesystem::path& path, int flags);

/// All of `content` to an open descriptor, also where write(2) takes a part or is interrupted.
/// Returns 0, or the reason as in errno.
[[nodiscard]] int write_all(int descriptor, std::string_view content);

/// A file holds `content` whole, or still what it held before: it is written beside it, with the
/// permissions that it had, flushed to the disk and renamed. Links are followed. What is no file (a
/// device, a pipe) is written as it is, and so is the file that standard output goes to, after what
/// stands there. Makes no folder. Returns 0, or the reason as in errno. Throws ConfigError as
/// open_output().
[[nodiscard]] int write_whole(const std::filesystem::path& path, std::string_view content);

/// Whether write_whole() could write there, be its folder made already or not: an empty file is
/// made where that one would be written beside, and removed. Returns 0, or the reason as in errno.
[[nodiscard]] int try_to_write(const std::filesystem::path& path);

/// For a file that is opened several times, first to see whether it can be. Throws ConfigError,
/// beginning with `what` ("--benchmark_out=pipe"), for a pipe or a socket, whose reader would stop
/// at the first end, and for the file that standard output goes to already, since each would
/// overwrite the other. What is not there yet passes, and so do devices such as /dev/null.
void refuse_shared_output(const std::filesystem::path& path, std::string_view what);

}  // namespace dlscale
