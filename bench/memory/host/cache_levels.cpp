#include "bench/memory/host/cache_levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/memory/host/piecewise_linear_segments.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

const double least_noise = std::log(1.01);
const double flat_per_doubling = std::log(1.05);
const double shallow_per_doubling = std::log(1.25);
constexpr double higher = 1.25;
constexpr double most_of_misses = 2;
constexpr std::size_t least_sizes = 4;
constexpr double least_doublings = 2.0 / 3;  // where sizes are dense, four of them are not a level

std::vector<Segment> segments_of(std::span<const SizeLatency> latencies) {
  std::vector<double> doublings;
  std::vector<double> logarithms;
  doublings.reserve(latencies.size());
  logarithms.reserve(latencies.size());
  for (const SizeLatency& each : latencies) {
    doublings.push_back(std::log2(static_cast<double>(each.bytes)));
    logarithms.push_back(std::log(each.latency));
  }
  return piecewise_linear_segments(doublings, logarithms, least_noise);
}

/// Rise of the latency's logarithm in the doubling before the segment, and in the one after its
/// end: the smaller value of two sizes there. 0 if the sizes do not extend so far.
double rise_before(std::span<const SizeLatency> latencies, std::size_t first) {
  std::size_t i = first;
  while (i > 0 && 2 * latencies[i].bytes > latencies[first].bytes) --i;
  if (i == 0) return 0;
  return std::log(latencies[first].latency /
                  std::max(latencies[i].latency, latencies[i - 1].latency));
}

double rise_after(std::span<const SizeLatency> latencies, std::size_t last) {
  std::size_t i = last;
  while (i < latencies.size() && latencies[i].bytes < 2 * latencies[last].bytes) ++i;
  if (i + 1 >= latencies.size()) return 0;
  return std::log(std::min(latencies[i].latency, latencies[i + 1].latency) /
                  latencies[last].latency);
}

bool is_flat(std::span<const SizeLatency> latencies, const Segment& segment) {
  if (segment.count < least_sizes || std::abs(segment.slope) > shallow_per_doubling) return false;
  const std::size_t last = segment.first + segment.count - 1;
  const auto growth = static_cast<double>(latencies[last].bytes) /
                      static_cast<double>(latencies[segment.first].bytes);
  if (std::log2(growth) < least_doublings) return false;
  if (std::abs(segment.slope) <= flat_per_doubling) return true;
  const double steeper = std::max(shallow_per_doubling, 2 * segment.slope);
  return rise_before(latencies, segment.first) > steeper && rise_after(latencies, last) > steeper;
}

Summary latency_of(std::span<const SizeLatency> sizes) {
  std::vector<double> values;
  values.reserve(sizes.size());
  for (const SizeLatency& each : sizes) values.push_back(each.latency);
  return summarize(values);
}

/// Sizes with one latency: one or several flat segments.
struct Flat {
  Segment longest;  ///< its latency is that of all
  Segment last;
  Summary latency;
};

std::vector<Flat> flats_of(std::span<const SizeLatency> latencies) {
  std::vector<Flat> flats;
  for (const Segment& segment : segments_of(latencies)) {
    if (!is_flat(latencies, segment)) continue;
    const Summary latency = latency_of(latencies.subspan(segment.first, segment.count));
    if (flats.empty() || latency.median >= higher * flats.back().latency.median) {
      flats.push_back({segment, segment, latency});
      continue;
    }
    Flat& same = flats.back();  // slightly slower from here on
    same.last = segment;
    if (segment.count <= same.longest.count) continue;
    same.longest = segment;
    same.latency = latency;
  }
  return flats;
}

/// The first size at or after `from` whose latency, and the next one's, exceed the limit.
std::size_t first_above(std::span<const SizeLatency> latencies, std::size_t from, double limit) {
  for (std::size_t i = from; i < latencies.size(); ++i) {
    const bool next_above = i + 1 == latencies.size() || latencies[i + 1].latency > limit;
    if (latencies[i].latency > limit && next_above) return i;
  }
  return latencies.size();
}

CacheLevel level_of(std::span<const SizeLatency> latencies, const Flat& flat, double next_latency) {
  const double latency = flat.latency.median;
  const double limit = latency * std::min(most_of_misses, std::sqrt(next_latency / latency));
  const std::size_t end = first_above(latencies, flat.last.first + flat.last.count, limit);
  return {.bytes = latencies[end - 1].bytes,
          .latency = latency,
          .bytes_low = latencies[flat.last.end_low - 1].bytes,
          .bytes_high = latencies[std::min(end, latencies.size() - 1)].bytes,
          .latency_low = flat.latency.ci95_low,
          .latency_high = flat.latency.ci95_high};
}

}  // namespace

std::vector<CacheLevel> find_levels(std::span<const SizeLatency> latencies) {
  const std::vector<Flat> flats = flats_of(latencies);
  std::vector<CacheLevel> levels;
  levels.reserve(flats.size());
  for (std::size_t i = 0; i < flats.size(); ++i) {
    const double next = i + 1 < flats.size() ? flats[i + 1].latency.median
                                             : std::numeric_limits<double>::infinity();
    levels.push_back(level_of(latencies, flats[i], next));
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

std::vector<std::size_t> sizes_between(std::span<const CacheLevel> levels, std::size_t stride) {
  EXPECT(stride >= 1);
  constexpr double per_doubling = 16;
  std::vector<std::size_t> sizes;
  for (const CacheLevel& level : levels.first(std::max<std::size_t>(levels.size(), 1) - 1)) {
    for (int step = 1;; ++step) {
      const double size = static_cast<double>(level.bytes_low) * std::exp2(step / per_doubling);
      const std::size_t whole = static_cast<std::size_t>(size) / stride * stride;
      if (whole >= level.bytes_high) break;
      if (whole > level.bytes_low && (sizes.empty() || whole > sizes.back())) {
        sizes.push_back(whole);
      }
    }
  }
  return sizes;
}

std::vector<SizeLatency> paired(std::span<const double> bytes, std::span<const double> latencies) {
  EXPECT(bytes.size() == latencies.size());
  std::vector<SizeLatency> pairs;
  pairs.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    pairs.push_back({static_cast<std::size_t>(bytes[i]), latencies[i]});
  }
  return pairs;
}

std::vector<CacheLevel> add_levels(Measurement& measurement, std::span<const SizeLatency> latencies,
                                   const std::string& unit) {
  std::vector<CacheLevel> levels = find_levels(latencies);
  if (levels.empty()) {
    measurement.warnings.emplace_back(
        "the latencies show no level: none stays the same over four sizes. Something else used the "
        "device, or its clock changed; measure again.");
    return levels;
  }
  const auto add = [&](const char* name, const std::string& in, auto member) {
    std::vector<double> values;
    values.reserve(levels.size());
    for (const CacheLevel& level : levels) values.push_back(static_cast<double>(level.*member));
    measurement.series[name] = make_series(in, {std::move(values)});
  };
  add("level_capacity", "B", &CacheLevel::bytes);
  add("level_capacity_low", "B", &CacheLevel::bytes_low);
  add("level_capacity_high", "B", &CacheLevel::bytes_high);
  add("level_latency", unit, &CacheLevel::latency);
  add("level_latency_low", unit, &CacheLevel::latency_low);
  add("level_latency_high", unit, &CacheLevel::latency_high);
  return levels;
}

}  // namespace dlscale::bench
