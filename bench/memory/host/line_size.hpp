#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace dlscale::bench {

/// How long an access takes on average, if every other one is `distance` bytes from the one before
/// and the rest go to places that are in no near cache.
struct DistanceLatency {
  std::size_t distance = 0;
  double latency = 0;  ///< > 0, in any unit
};

/// The size of a cache line: within it the second access finds what the first one brought.
struct LineSize {
  std::size_t bytes = 0;  ///< the least distance that costs more
  std::size_t above = 0;  ///< the greatest that does not: the line is longer than that
  double ratio = 0;       ///< of the latencies beyond and within a line
};

/// The cut that leaves the least squared deviations of logarithms from the means of both sides. A
/// finding only if the latencies beyond are at least an eighth above those within, and the means
/// four standard deviations apart. Requires distances in growing order.
std::optional<LineSize> find_line_size(std::span<const DistanceLatency> latencies);

}  // namespace dlscale::bench
