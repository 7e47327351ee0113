#pragma once
#include <span>
#include <string>
#include <vector>

#include "backend/host/data_caches.hpp"
#include "bench/memory/cache_levels.hpp"

namespace dlscale::bench {

/// What was measured of a cache that the system describes.
struct ToldCache {
  backend::DataCache told;
  std::size_t measured = 0;  ///< bytes; 0: no level of about that size was found
};

/// Every cache with the measured level nearest in size, within a factor of two; a level belongs to
/// one cache only. A level whose end was not seen, such as memory, is none of them.
std::vector<ToldCache> match(std::span<const backend::DataCache> told,
                             std::span<const CacheLevel> measured);

/// "L1 48.0 KiB measured 46.3 KiB, L3 32.0 MiB not seen"
std::string comparison(std::span<const ToldCache> caches);

}  // namespace dlscale::bench
