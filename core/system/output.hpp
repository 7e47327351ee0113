#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// Writes `text` to the file, or to standard output if `path` is "-" or empty. A file appears whole
/// or not at all, as write_whole() does it. Throws ConfigError when it cannot be written.
void write_output(const std::string& path, std::string_view text);

/// What to say when standard output takes no more.
inline constexpr const char* lost_output =
    "standard output cannot be written, so that part of the answer is lost (is the disk full, or "
    "the output closed?). Free space, or send it to another place.";

/// Says on standard error that an allocation failed which nothing foresaw: in one piece, as ranks
/// share it, and without an allocation, which would fail as well.
void say_out_of_memory();

/// Says on standard error that something was to be larger than any memory can be: the standard
/// library refuses that before it asks for memory (std::length_error).
void say_too_large();

/// Sends what is still in buffers. Throws ConfigError if that, or an earlier write, failed.
void check_standard_output();

}  // namespace dlscale
