#pragma once
#include <span>
#include <string>
#include <vector>

#include "bench/memory/host/cache_levels.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Adds the levels that latencies in `unit` show to a measurement: series "level_capacity" (B) and
/// "level_latency", each with its 95 % interval in "…_low" and "…_high", one value a level; or a
/// warning if they show none. Returns them.
std::vector<CacheLevel> add_levels(Measurement& measurement, std::span<const SizeLatency> latencies,
                                   const std::string& unit);

/// Sizes and latencies side by side.
std::vector<SizeLatency> paired(std::span<const double> bytes, std::span<const double> latencies);

}  // namespace dlscale::bench
