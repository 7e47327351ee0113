#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// A random permutation of 0 … nodes - 1 that is one cycle: next[i] follows i, and every node is
/// visited once before the start [Sattolo 1986]. So no prefetcher guesses the next address, and no
/// part of a working set is left out. 1 ≤ nodes < 2^32.
std::vector<std::uint32_t> single_cycle(std::size_t nodes, std::uint64_t seed);

/// Number of nodes of a chase: the addresses 0, stride, 2 stride, … below `bytes`.
std::size_t chase_nodes(const ChaseSpec& spec);

/// Throws ConfigError for a working set that cannot be chased: with fewer than two nodes, or more
/// words than 32 bits can number.
void check(const ChaseSpec& spec);

/// The working set as words of 4 bytes. A node's word holds the number of the next node's word; the
/// others are 0.
std::vector<std::uint32_t> chase_image(const ChaseSpec& spec, std::uint64_t seed);

/// Number of words in `visited` that differ from those that follow word `start` in the image.
std::size_t wrong_visits(std::span<const std::uint32_t> image, std::uint32_t start,
                         std::span<const std::uint32_t> visited);

/// The word that is `steps` accesses after `start`.
std::uint32_t follow(std::span<const std::uint32_t> image, std::uint32_t start, std::size_t steps);

/// Fills memory with a pattern that a check can recognize: a 64-bit mix of seed and position. No
/// part of it resembles another part, or a pattern with another seed.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed);

/// Number of bytes that differ from the pattern.
std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace dlscale::backend::cuda
