#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/roofline/kernels/ceilings.hpp"

namespace dlscale::model {

/// A bandwidth measured over one working set.
struct MeasuredBandwidth {
  Bytes working_set;
  BytesPerSecond bandwidth;
  std::string pass = {};  ///< kind of pass, "copy" or "triad": kinds differ in speed
};

/// Working sets of at least this many times the last-level cache are in memory, as STREAM requires
/// of its arrays [J. McCalpin, STREAM run rules].
inline constexpr double sets_beyond_a_cache = 4;
/// Names of the last level: memory, and the level that stands in for it.
inline constexpr const char* memory_name = "memory";
inline constexpr const char* farthest_name = "farthest measured";

/// Levels from measured bandwidths, nearest first. The curve has the highest bandwidth at each
/// working set, without single points above or below both neighbours. A level is a stretch over
/// which the curve stays within `tolerance` of its first point (the plateaus of the Empirical
/// Roofline Toolkit). A stretch must span a factor of two in working set, or it is the fall between
/// two plateaus. Bandwidths that grow with the working set (start-up of short passes) belong to the
/// next level.
///
/// The bandwidth of a level is the median over its stretch of one kind of pass, the kind with the
/// highest median. At each set the fastest row of that kind counts: rows may lie a little above the
/// level.
///
/// Memory, named memory_name, covers working sets of at least sets_beyond_a_cache times
/// `last_cache`, however few they are. If the cache is not known, or no set is that large, the last
/// stretch stands in for memory, named farthest_name. A part of it may come from a cache. Throws
/// ConfigError if nothing was measured.
std::vector<MemoryLevel> levels_of(const std::vector<MeasuredBandwidth>& measured,
                                   std::optional<Bytes> last_cache = {}, double tolerance = 0.2);

}  // namespace dlscale::model
