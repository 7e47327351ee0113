#include "bench/memory/host/level_series.hpp"

#include "core/base/error.hpp"

namespace dlscale::bench {

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
