#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// Writes `text` to the file, or to standard output if `path` is "-" or empty. A file is written
/// atomically, as by write_whole(). Throws ConfigError if it cannot be written.
void write_output(const std::string& path, std::string_view text);

/// Message for a standard output that does not accept more.
inline constexpr const char* lost_output =
    "standard output cannot be written, so that part of the answer is lost (is the disk full, or "
    "the output closed?). Free space, or send it to another place.";

/// Reports on standard error that an unexpected allocation failed. Writes one piece, because ranks
/// share the stream, and does not allocate, because that would fail, too.
void say_out_of_memory();

/// Reports on standard error that something exceeds any possible memory: the standard library
/// refuses that before allocating (std::length_error).
void say_too_large();

/// Flushes standard output. Throws ConfigError if that, or an earlier write, failed.
void check_standard_output();

}  // namespace dlscale
