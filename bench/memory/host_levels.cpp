#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backend/host/data_caches.hpp"
#include "bench/memory/host_chase.hpp"
#include "bench/memory/host_latency.hpp"
#include "bench/memory/host_sweep.hpp"
#include "bench/memory/level_series.hpp"
#include "bench/memory/told_caches.hpp"

namespace dlscale::bench {
namespace {

using backend::PageSize;

constexpr std::size_t smallest_set = 4096;

/// This rank's latencies at growing sizes.
struct SizeSweep {
  std::vector<double> bytes;
  std::vector<double> latencies;
};

/// Visits working sets with a place in every `stride` bytes.
void visit(HostSweep& sweep, std::span<const std::size_t> sizes, std::size_t stride, PageSize pages,
           SizeSweep& into) {
  for (const std::size_t bytes : sizes) {
    const double latency = sweep.visit(spread_places(bytes, stride), 1, pages);
    const auto after =
        std::upper_bound(into.bytes.begin(), into.bytes.end(), static_cast<double>(bytes));
    into.latencies.insert(into.latencies.begin() + (after - into.bytes.begin()), latency);
    into.bytes.insert(after, static_cast<double>(bytes));
  }
}

void compare_with_system(Measurement& measurement, std::span<const CacheLevel> levels) {
  const backend::DataCaches caches = backend::data_caches();
  if (caches.levels.empty()) return;
  const std::vector<ToldCache> matched = match(caches.levels, levels);
  measurement.implementation += fmt::format("; {}: {}", caches.source, comparison(matched));
  std::vector<double> told;
  told.reserve(matched.size());
  for (const ToldCache& each : matched) told.push_back(each.told.size.si());
  measurement.series["told_capacity"] = make_series("B", {std::move(told)});
}

void add_cycles(Measurement& measurement) {
  const double clock = measurement.at("core_clock").summary.median;
  std::vector<double> cycles = measurement.at("level_latency").samples.front();
  for (double& each : cycles) each *= clock;
  measurement.series["level_cycles"] = make_series("cycles", {std::move(cycles)});
}

Measurement measure(HostSweep& sweep, std::size_t stride, PageSize pages) {
  const std::size_t first = std::max(smallest_set, 16 * stride) / stride * stride;
  const std::size_t last = std::max(first, largest_set(sweep.communicator()));
  SizeSweep done;
  visit(sweep, sweep_sizes(first, last, stride), stride, pages, done);
  const auto coarse = find_levels(sweep.slowest(done.bytes, done.latencies));
  visit(sweep, sizes_between(coarse, stride), stride, pages, done);

  Measurement measurement = sweep.verdict();
  measurement.implementation =
      fmt::format("pointer chases, {} runs of each size", HostSweep::runs_of_each);
  if (measurement.status != Status::ok) return measurement;
  sweep.add_series(measurement, "working_set", "B", done.bytes);
  sweep.add_series(measurement, "latency", "s", done.latencies);
  const auto levels = add_levels(measurement, sweep.slowest(done.bytes, done.latencies), "s");
  if (!levels.empty()) add_cycles(measurement);
  compare_with_system(measurement, levels);
  return measurement;
}

}  // namespace

Measurement measure_host_levels(std::size_t stride, PageSize pages, const Sampler& sampler) {
  try {
    HostSweep sweep(sampler.communicator());
    return measure(sweep, stride, pages);
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
}

}  // namespace dlscale::bench
