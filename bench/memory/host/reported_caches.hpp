#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/host/topology.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// A cache that the system reports, with its measured size.
struct ReportedCache {
  backend::DataCache reported;
  std::size_t measured = 0;  ///< bytes; 0: no level of about that size was found
  std::size_t part = 0;      ///< bytes; measured level that is a part of this cache, if any
};

/// Matches every cache with the measured level nearest in size, within a factor of two; each level
/// matches one cache at most. A level without a measured end, such as memory, matches none. For an
/// unmatched cache, the largest level above the previous cache's size is a part of it: others use
/// the rest.
std::vector<ReportedCache> match(std::span<const backend::DataCache> reported,
                                 std::span<const CacheLevel> measured);

/// Share of the latency rise, from a level to a larger working set, which disappears with huge
/// pages. Small pages cause it, not a cache. It is 0 to 1; 0 if there is not a rise.
double share_of_pages(double level, double larger_in_small, double larger_in_huge);

/// Text such as "L1 48.0 KiB measured 46.3 KiB, L3 32.0 MiB not seen".
std::string comparison(std::span<const ReportedCache> caches);

/// Why the last cache may be smaller than reported, with advice, if less than three quarters of it
/// were measured; else empty.
std::optional<std::string> last_is_smaller(std::span<const ReportedCache> caches);

/// Four times the last-level cache, in whole lines of 64 bytes: an array of that size does not fit
/// in the caches [McCalpin, STREAM run rules]. 0 for an unknown cache.
std::size_t beyond_caches(Bytes last_level_cache);

/// The largest working set that a benchmark of latency chooses by itself: at least twice the last
/// level of processors made so far. A guest may be given the caches of its whole host (480 MiB and
/// more), and a pointer chase through four times as much takes minutes for each size.
inline constexpr std::size_t most_chased = std::size_t{1} << 30;

/// beyond_caches(), but at most `most_chased`.
std::size_t chased_beyond_caches(Bytes last_level_cache);

/// Throws ConfigError if `bytes` of every rank exceed half of the memory of their shared node, as
/// it would measure swapping. `what` names their use.
void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator);

/// An eighth of the node's memory divided among its ranks, in bytes.
std::size_t memory_share(const backend::Communicator& communicator);

}  // namespace dlscale::bench
