#pragma once
#include <filesystem>

namespace dlscale {

/// open(2) for writing, with `flags` beside O_WRONLY, O_CREAT and O_CLOEXEC; below 0, with the
/// reason in errno, if that fails. Does not wait where open(2) would: a named pipe that no program
/// reads, or a socket, throws ConfigError.
int open_output(const std::filesystem::path& path, int flags);

}  // namespace dlscale
