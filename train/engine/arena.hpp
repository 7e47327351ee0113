#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale::train {

/// A piece of memory that is needed from step `first` to step `last`, both included.
struct LiveRange {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Offset of each piece in one arena.
struct Placement {
  std::vector<std::size_t> offsets;  ///< multiples of the alignment, one per range
  std::size_t bytes = 0;             ///< size of the arena
};

/// Lets pieces whose live ranges do not overlap share memory: first fit, largest piece first. No
/// two pieces that share a step overlap. `alignment` is a power of two.
Placement place(std::span<const LiveRange> ranges, std::size_t alignment);

/// `bytes` rounded up to a multiple of `alignment`.
constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace dlscale::train
