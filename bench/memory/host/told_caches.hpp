#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/host/data_caches.hpp"
#include "bench/memory/host/cache_levels.hpp"

namespace dlscale::bench {

/// What was measured of a cache that the system describes.
struct ToldCache {
  backend::DataCache told;
  std::size_t measured = 0;  ///< bytes; 0: no level of about that size was found
  std::size_t part = 0;  ///< bytes; of the level that must then be a part of it, if there is one
};

/// Every cache with the measured level nearest in size, within a factor of two; a level belongs to
/// one cache only. A level whose end was not seen, such as memory, is none of them. Of a cache
/// without one, the largest level that is larger than the cache before is a part: others use the
/// rest.
std::vector<ToldCache> match(std::span<const backend::DataCache> told,
                             std::span<const CacheLevel> measured);

/// The part of the rise from a level's latency to that of a larger working set which goes away with
/// huge pages, so that small pages are to blame and no cache: from 0 to 1, and 0 if there is no
/// rise.
double share_of_pages(double level, double larger_in_small, double larger_in_huge);

/// "L1 48.0 KiB measured 46.3 KiB, L3 32.0 MiB not seen"
std::string comparison(std::span<const ToldCache> caches);

/// Why the last cache may be smaller than the system says, and advice, where less than three
/// quarters of it were seen; else nothing.
std::optional<std::string> last_is_smaller(std::span<const ToldCache> caches);

}  // namespace dlscale::bench
