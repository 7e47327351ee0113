#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/host/pages.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Places in a working set of `bytes`, one in every `stride` of them, both ≥ 8. Where the stride is
/// more than a cache line, the places also go on by a line from one to the next, as far as the
/// stride allows: all at the same place of their page, say, would share a few sets of the caches,
/// and the misses there would hide what is looked for.
std::vector<std::size_t> spread_places(std::size_t bytes, std::size_t stride);

/// Places in a working set of `blocks` blocks of `block_bytes`, two in each: its start, and
/// `distance` bytes on, which follows at once. block_bytes > distance ≥ 8.
std::vector<std::size_t> paired_places(std::size_t blocks, std::size_t block_bytes,
                                       std::size_t distance);

/// One thread follows a cycle through the places of a working set, each access waiting for the one
/// before: the places in random order, `together` of them that stand next to each other in the
/// list being kept together, over and over [Mei, Chu 2017: pointer chase along a random single
/// cycle, so that no hardware foresees the next address]. A single access cannot be timed on a
/// processor, whose clocks take longer to read than its nearest cache.
class HostChase {
 public:
  /// `places`: at least one, multiples of 8, each once; their number is a multiple of `together`.
  /// Walks through all of them once. Throws Unsupported or ConfigError where there is no such
  /// memory.
  HostChase(std::span<const std::size_t> places, std::size_t together, backend::PageSize pages,
            std::uint64_t seed);

  /// How many of the places the cycle does not visit exactly once.
  [[nodiscard]] std::size_t wrong_elements() const { return wrong_; }
  [[nodiscard]] std::size_t places() const { return count_; }

  /// Visits all places in the order of the cycle, from 32 of them at the same time, once or, a few
  /// places, until they were visited 131072 times: what the caches keep afterwards is what a walk
  /// along the cycle leaves there, in a fraction of its time. The next run goes on from a place
  /// that was among the first of the last round.
  void refresh();

  /// Goes on where the last run stopped, for so many accesses, a multiple of 16; the mean time of
  /// one.
  Seconds run(int accesses);

 private:
  [[nodiscard]] std::size_t count_wrong() const;
  void spread_walkers();

  backend::PagedMemory memory_;
  std::size_t count_;
  void* at_ = nullptr;
  std::array<void*, 32> walkers_{};  ///< evenly spread along the cycle
  std::size_t wrong_ = 0;
};

}  // namespace dlscale::bench
