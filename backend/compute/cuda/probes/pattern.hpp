#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace dlscale::backend::cuda {

/// Fills memory with a pattern that a check can recognize: a 64-bit mix of seed and position. No
/// part of it resembles another part, or a pattern with another seed.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);

/// Number of bytes that differ from the pattern.
std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace dlscale::backend::cuda
