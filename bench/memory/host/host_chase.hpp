#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/host/pages.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Addresses in a working set of `bytes`, one per `stride`, both ≥ 8. If the stride exceeds a cache
/// line, the offset within the stride also advances by a line each time. A fixed offset in the page
/// would map all addresses to a few cache sets, and conflict misses would hide the levels.
std::vector<std::size_t> spread_places(std::size_t bytes, std::size_t stride);

/// Addresses in a working set of `blocks` blocks of `block_bytes`, two in each: its start, and
/// `distance` bytes later, visited next. block_bytes > distance ≥ 8.
std::vector<std::size_t> paired_places(std::size_t blocks, std::size_t block_bytes,
                                       std::size_t distance);

/// Seed of the cycles that benchmarks measure.
inline constexpr std::uint64_t chase_seed = 1;

/// One thread follows a random cycle through the addresses of a working set, each access dependent
/// on the previous one [Mei, Chu 2017: pointer chase along a random single cycle, which defeats
/// prefetching]. Groups of `together` neighbours in the list stay together in the cycle. A
/// processor cannot time a single access, as reading its clock takes longer than its nearest cache.
class HostChase {
 public:
  /// `places`: at least one, distinct multiples of 8; their number is a multiple of `together`.
  /// Walks through all of them once. Throws Unsupported or ConfigError if such memory is not
  /// available.
  HostChase(std::span<const std::size_t> places, std::size_t together, backend::PageSize pages,
            std::uint64_t seed);

  /// Number of links of the cycle that lead to a wrong place; 0 if it visits each exactly once.
  [[nodiscard]] std::size_t wrong_elements() const { return wrong_; }
  [[nodiscard]] std::size_t places() const { return count_; }

  /// Visits all places in the cycle's order with 32 parallel walkers: once, or for few places until
  /// 131072 visits. The caches end up as after a sequential walk, in a fraction of its time. The
  /// next run starts at one of the first places of the last round.
  void refresh();

  /// Continues where the last run stopped, for that many accesses (a multiple of 16). Returns the
  /// mean time of one.
  Seconds run(int accesses);

 private:
  [[nodiscard]] std::size_t steps_of_walker() const;
  [[nodiscard]] std::size_t count_wrong(std::span<const std::size_t> order);

  backend::PagedMemory memory_;
  std::size_t count_;
  void* at_ = nullptr;
  std::array<void*, 32> walkers_{};  ///< evenly spaced along the cycle
  std::size_t wrong_ = 0;
};

/// A separately timed part of a chase.
struct ChasePiece {
  Seconds access;  ///< mean time of one access
  /// The system ran something else meanwhile, which evicted its cache lines.
  bool interrupted = false;
};

/// Times chases in pieces, which are short relative to a scheduler's time slice, and counts
/// interrupted ones.
class ChasePieces {
 public:
  static constexpr int accesses = 4096;  ///< per piece

  /// Restores evicted cache lines (HostChase::refresh), then times a piece.
  ChasePiece time(HostChase& chase);

  /// Text for the implementation, over all ranks: "the system interrupted 2 of all 72". Collective.
  [[nodiscard]] std::string count_text(backend::Communicator& communicator) const;

  /// A warning with advice if the system interrupted pieces on any rank. It has no numbers, so that
  /// a report of many chases shows it once. Collective.
  [[nodiscard]] std::vector<std::string> warnings(backend::Communicator& communicator) const;

 private:
  double pieces_ = 0;
  double interrupted_ = 0;  ///< number of interrupted pieces
};

}  // namespace dlscale::bench
