#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace dlscale::bench {

/// What the caches hold when a timed region starts. In training the step before has just written
/// what a step reads first, and everything else has been driven out since it was last used.
enum class CacheState {
  cold,      ///< nothing the step uses (with several compute threads: see CacheFlusher)
  producer,  ///< what the step before it in the network wrote, as far as it fits; nothing else
  hot,       ///< what the same step used when it ran last
};
std::string_view cache_state_name(CacheState state);
CacheState parse_cache_state(std::string_view name);  ///< throws ConfigError

/// What has to pass through the caches to drive everything else out: twice the last-level cache (of
/// which a virtual machine may own only a part), 64 MiB at least. `last_level` is zero where the
/// system does not tell (backend::last_level_cache()); then the warning says so.
Bytes flush_size(Bytes last_level);
std::vector<std::string> unknown_size_warnings(Bytes last_level);

/// Drives everything out of the caches by reading a buffer of flush_size(). Reading leaves clean
/// lines, so that the timed region does not pay for writing them back. (Rotating among enough sets
/// of operands would do as well, but every set must be filled: for the few samples that a layer
/// takes, reading one buffer is quicker and needs less memory.) The calling thread reads. That
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
