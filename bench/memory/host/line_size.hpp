#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace dlscale::bench {

/// Mean access time if every other access is `distance` bytes from the previous one, and the rest
/// miss the near caches.
struct DistanceLatency {
  std::size_t distance = 0;
  double latency = 0;  ///< > 0, in any unit
};

/// The size of a cache line. Within it, the second access hits the line that the first one loaded.
struct LineSize {
  std::size_t bytes = 0;  ///< smallest distance with a higher latency
  std::size_t above = 0;  ///< largest distance without; the line is longer
  double ratio = 0;       ///< latency beyond a line over that within
};

/// Finds the cut with the least squared deviations of logarithms from the means of both sides.
/// Empty unless latencies beyond the cut are at least an eighth above those within, and the means
/// four standard deviations apart. Requires ascending distances.
std::optional<LineSize> find_line_size(std::span<const DistanceLatency> latencies);

}  // namespace dlscale::bench
