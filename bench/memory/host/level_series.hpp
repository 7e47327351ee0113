#pragma once
#include <span>
#include <string>
#include <vector>

#include "bench/memory/host/cache_levels.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Finds the levels in latencies of unit `unit`. Adds them to a measurement as series
/// "level_capacity" (B) and "level_latency", with 95 % intervals in "…_low" and "…_high", one value
/// per level; or a warning if there are none. Returns them.
std::vector<CacheLevel> add_levels(Measurement& measurement, std::span<const SizeLatency> latencies,
                                   const std::string& unit);

/// Combines sizes and latencies.
std::vector<SizeLatency> paired(std::span<const double> bytes, std::span<const double> latencies);

}  // namespace dlscale::bench
