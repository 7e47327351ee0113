#include "bench/memory/cache_levels.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace dlscale::bench {
namespace {

constexpr double flat = 1.05;
constexpr double higher = 1.25;
constexpr std::size_t least_sizes = 4;

double median_latency(std::span<const SizeLatency> stretch) {
  std::vector<double> values;
  for (const SizeLatency& each : stretch) values.push_back(each.latency);
  return median(values);
}

bool is_flat(std::span<const SizeLatency> stretch) {
  const double middle = median_latency(stretch);
  return std::all_of(stretch.begin(), stretch.end(), [&](const SizeLatency& each) {
    return each.latency <= middle * flat && each.latency >= middle / flat;
  });
}

/// The longest flat stretch from the start.
std::size_t flat_length(std::span<const SizeLatency> latencies) {
  std::size_t length = 1;
  while (length < latencies.size() && is_flat(latencies.first(length + 1))) ++length;
  return length;
}

}  // namespace

std::vector<CacheLevel> find_levels(std::span<const SizeLatency> latencies) {
  std::vector<CacheLevel> levels;
  std::size_t longest = 0;  // stretch of the last level
  while (!latencies.empty()) {
    const std::size_t length = flat_length(latencies);
    if (length < least_sizes) {
      latencies = latencies.subspan(1);
      continue;
    }
    const std::span stretch = latencies.first(length);
    const CacheLevel found{stretch.back().bytes, median_latency(stretch)};
    latencies = latencies.subspan(length);
    if (levels.empty() || found.latency >= higher * levels.back().latency) {
      levels.push_back(found);
      longest = length;
      continue;
    }
    levels.back().bytes = found.bytes;  // the same level, a little slower
    if (length > longest) levels.back().latency = found.latency;
    longest = std::max(longest, length);
  }
  return levels;
}

std::vector<std::size_t> sweep_sizes(std::size_t first, std::size_t last, std::size_t stride) {
  EXPECT(stride >= 1 && first >= stride && first <= last);
  constexpr double per_doubling = 4;
  std::vector<std::size_t> sizes;
  for (int step = 0; sizes.empty() || sizes.back() < last; ++step) {
    const double size = static_cast<double>(first) * std::exp2(step / per_doubling);
    const std::size_t whole = static_cast<std::size_t>(size) / stride * stride;
    if (sizes.empty() || whole > sizes.back()) sizes.push_back(whole);
  }
  return sizes;
}

}  // namespace dlscale::bench
