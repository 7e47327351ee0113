#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// A random permutation of 0 … nodes - 1 that is one cycle: next[i] follows i, and who follows it
/// from anywhere sees every node once before being back [Sattolo 1986]. So no prefetcher guesses
/// the next address, and no part of a working set is left out. 1 ≤ nodes < 2^32.
std::vector<std::uint32_t> single_cycle(std::size_t nodes, std::uint64_t seed);

/// Nodes of a chase: the addresses 0, stride, 2 stride, … below `bytes`.
std::size_t chase_nodes(const ChaseSpec& spec);

/// Throws ConfigError for a working set that cannot be chased: of fewer than two nodes, or with
/// words that 32 bits do not number.
void check(const ChaseSpec& spec);

/// The working set as words of 4 bytes: that of a node holds the number of the next node's word;
/// the others are 0.
std::vector<std::uint32_t> chase_image(const ChaseSpec& spec, std::uint64_t seed);

/// How many of the words `visited` are not those that come after word `start` in the image.
std::size_t wrong_visits(std::span<const std::uint32_t> image, std::uint32_t start,
                         std::span<const std::uint32_t> visited);

/// The word that is `steps` accesses after `start`.
std::uint32_t follow(std::span<const std::uint32_t> image, std::uint32_t start, std::size_t steps);

}  // namespace dlscale::backend::cuda
