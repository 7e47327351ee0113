#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// What the caches hold when a timed region starts. In training the step before has just written
/// what a step reads first, and everything else has been driven out since it was last used.
enum class CacheState {
  cold,      ///< nothing the step uses (with several compute threads: see CacheFlusher)
  producer,  ///< what the step before it in the network wrote, as far as it fits; nothing else
  hot,       ///< what the same step used when it ran last
  /// Nothing the step uses, since it runs on sets of operands in turn, enough of them to drive each
  /// other out. Unlike `cold`, nothing else runs between two samples, so that branch predictors,
  /// address translations and the private caches of all threads are as they are in a stream of
  /// work.
  rotating,
};
std::string_view cache_state_name(CacheState state);
/// The states that any benchmark can bring about. Rotation needs one that has several operands.
inline constexpr std::array settable_cache_states{CacheState::cold, CacheState::producer,
                                                  CacheState::hot};
/// Throws ConfigError unless it is the name of one that is offered.
CacheState parse_cache_state(std::string_view name,
                             std::span<const CacheState> offered = settable_cache_states);

/// What has to pass through the caches to drive everything else out: twice the last-level cache (of
/// which a virtual machine may own only a part), 64 MiB at least. `last_level` is zero where the
/// system does not tell (backend::last_level_cache()); then the warning says so.
Bytes flush_size(Bytes last_level);
/// Of how many sets of operands to use one after the other, so that all others have passed through
/// the caches, flush_size() together, before one is used again. `each` > 0: what a run moves.
int rotation_sets(Bytes last_level, Bytes each);
std::vector<std::string> unknown_size_warnings(Bytes last_level);

/// Drives everything out of the caches by reading a buffer of flush_size(). Reading leaves clean
/// lines, so that the timed region does not pay for writing them back. (CacheState::rotating does
/// without, but every set must be filled: for the few samples that a layer takes, reading one
/// buffer is quicker and needs less memory.) The calling thread reads. That
/// empties its core's private caches and the shared ones; the private caches of other cores, where
/// other compute threads ran, keep what the hardware leaves them.
class CacheFlusher {
 public:
  explicit CacheFlusher(Bytes last_level);
  /// Returns the bytes of the cache lines read, counted by what was read.
  std::size_t flush() const;
  [[nodiscard]] std::size_t bytes() const { return lines_.size(); }

 private:
  std::vector<unsigned char> lines_;  ///< a 1 at the start of each line
};

}  // namespace dlscale::bench
