#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/host/pages.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Contents of the caches when a timed region starts. In training the previous step has just
/// written what a step reads first, and everything else has been evicted since its last use.
enum class CacheState {
  cold,      ///< no data of the step (with several compute threads: see CacheFlusher)
  producer,  ///< only the output of the previous step of the network, as far as it fits
  hot,       ///< data of the same step's previous run
  /// No data of the step, as it rotates through enough sets of operands to evict each other. Unlike
  /// `cold`, nothing else runs between two samples. So branch predictors, TLBs and the private
  /// caches of all threads are as in a stream of work.
  rotating,
};
std::string_view cache_state_name(CacheState state);
/// States that every benchmark can set. Rotation needs several sets of operands.
inline constexpr std::array settable_cache_states{CacheState::cold, CacheState::producer,
                                                  CacheState::hot};
/// Parses the name of an offered state; else throws ConfigError.
CacheState parse_cache_state(std::string_view name,
                             std::span<const CacheState> offered = settable_cache_states);

/// Bytes that must pass through the caches to evict everything else: twice the last-level cache (a
/// virtual machine may own only a part of it), at least 64 MiB. `last_level` is zero if the system
/// does not report it (backend::last_level_cache()); then there is a warning.
Bytes flush_size(Bytes last_level);
/// Number of operand sets to rotate through, so that flush_size() bytes of other sets pass through
/// the caches before a set is reused. `each` > 0 is the bytes that a run moves.
int rotation_sets(Bytes last_level, Bytes each);
std::vector<std::string> unknown_size_warnings(Bytes last_level);

/// Evicts everything from the caches by reading flush_size() bytes. Most of them lie in huge pages
/// where the system has them: they need few page walks, which take most of the time in small ones.
/// The last 16 MiB lie in small pages. The translations of those and of at least 64 huge pages
/// evict all others. Reading leaves clean lines, so the timed region does not pay for write-back.
/// CacheState::rotating does not need it, but must fill every set; for a layer's few samples one
/// buffer is faster and smaller. The calling thread reads, which evicts its core's private caches
/// and the shared ones. Private caches of other cores, where other compute threads ran, keep what
/// the hardware leaves them.
class CacheFlusher {
 public:
  explicit CacheFlusher(Bytes last_level);
  /// Returns the bytes of the cache lines read, counted from their contents.
  std::size_t flush() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Read in this order; a 1 at the start of each cache line.
  std::vector<std::unique_ptr<backend::PagedMemory>> parts_;
  std::size_t large_ = 0;  ///< bytes of the first part that are read; else a line of each huge page
};

}  // namespace dlscale::bench
