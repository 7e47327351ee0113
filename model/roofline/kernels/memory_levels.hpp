#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/roofline/kernels/ceilings.hpp"

namespace dlscale::model {

/// What was measured over one working set.
struct MeasuredBandwidth {
  Bytes working_set;
  BytesPerSecond bandwidth;
  std::string pass = {};  ///< "copy", "triad": kinds that move bytes at other speeds
};

/// Working sets of so many times the last-level cache are in memory: STREAM asks for arrays of as
/// much [J. McCalpin, STREAM run rules].
inline constexpr double sets_beyond_a_cache = 4;
/// The names of the last level: what such sets reach, and what stands for it.
inline constexpr const char* memory_name = "memory";
inline constexpr const char* farthest_name = "farthest measured";

/// Levels out of measured bandwidths, nearest first. Of the highest at each working set, without
/// single ones above or below both neighbours, the stretches count over which it stays within
/// `tolerance` of their first point (the plateaus of the Empirical Roofline Toolkit). A stretch
/// must span a factor of two in working set, or it is the fall from one plateau to the next.
/// Bandwidths that grow with the working set (start-up of short passes) belong to the level behind.
///
/// The bandwidth of a level is the median over its stretch of the kind of pass of which that is
/// highest, at each set the fastest of that kind: rows may lie a little above it.
///
/// Memory is what sets of at least sets_beyond_a_cache times `last_cache` reach, however few they
/// are, named memory_name. Where the cache is not known, or no set is that large, the last stretch
/// stands for it, named farthest_name: a part of it may have come from a cache.
/// Throws ConfigError if nothing was measured.
std::vector<MemoryLevel> levels_of(const std::vector<MeasuredBandwidth>& measured,
                                   std::optional<Bytes> last_cache = {}, double tolerance = 0.2);

}  // namespace dlscale::model
