#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/units.hpp"

namespace dlscale::bench {

/// How long an access takes in a working set of that size.
struct SizeLatency {
  std::size_t bytes = 0;
  double latency = 0;  ///< > 0, in any unit
};

/// A level of the memory: working sets up to `bytes` are served at about `latency`. For the last
/// one `bytes` is the largest working set that was tried.
struct CacheLevel {
  std::size_t bytes = 0;
  double latency = 0;
};

/// The levels that latencies by growing size show: stretches of at least four sizes over which the
/// latency stays within a twentieth of their median. One that is less than a quarter above the one
/// before belongs to the same level, whose latency is that of its longest stretch. Where random
/// accesses meet two levels the latency climbs over some sizes, which belong to no level. Requires
/// sizes in growing order.
std::vector<CacheLevel> find_levels(std::span<const SizeLatency> latencies);

/// Sizes from `first` to at least `last`, four to each doubling, multiples of `stride`.
std::vector<std::size_t> sweep_sizes(std::size_t first, std::size_t last, std::size_t stride);

}  // namespace dlscale::bench
