#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// Writes `text` to the file, or to standard output if `path` is "-" or empty. A file appears whole
/// or not at all, as write_whole() does it. Throws ConfigError when it cannot be written.
void write_output(const std::string& path, std::string_view text);

/// What to say when standard output takes no more.
inline constexpr const char* lost_output =
    "standard output cannot be written, so that part of the answer is lost (is the disk full, or "
    "the output closed?). Free space, or send it to another place.";

/// What to say where an allocation failed that nothing foresaw.
inline constexpr const char* out_of_memory =
    "there is not enough memory for what was asked for. Choose smaller sizes, batches or layers, "
    "or "
    "fewer ranks.";

/// Sends what is still in buffers. Throws ConfigError if that, or an earlier write, failed.
void check_standard_output();

}  // namespace dlscale::app
