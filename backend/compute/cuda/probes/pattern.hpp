#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace dlscale::backend::cuda {

/// Bytes to copy, and to know again: those of a 64-bit mix of seed and position, so that no part
/// of one pattern looks like another part of it or of a pattern with another seed.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);

/// How many bytes are not those of the pattern.
std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace dlscale::backend::cuda
