#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backend/host/topology.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "bench/memory/host/host_latency.hpp"
#include "bench/memory/host/host_sweep.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using backend::PageSize;

constexpr std::size_t smallest_set = 4096;

/// This rank's latencies by ascending size.
struct SizeSweep {
  std::vector<double> bytes;
  std::vector<double> latencies;
};

/// Visits working sets with one place per `stride` bytes.
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

/// Share of the latency rise that small pages cause, at twice the size of each level but the last.
/// Empty if there are no huge pages to compare with. Collective.
std::vector<double> shares_of_pages(HostSweep& sweep, std::span<const CacheLevel> levels,
                                    std::size_t stride) {
  std::vector<double> bytes;
  std::vector<double> small;
  std::vector<double> huge;
  try {
    for (const CacheLevel& level : levels.first(levels.size() - 1)) {
      const auto places = spread_places(2 * level.bytes, stride);
      huge.push_back(sweep.visit(places, 1, PageSize::huge));
      small.push_back(sweep.visit(places, 1, PageSize::small));
      bytes.push_back(static_cast<double>(2 * level.bytes));
    }
  } catch (const Unsupported&) {
    return {};
  }
  const auto in_small = sweep.slowest(bytes, small);
  const auto in_huge = sweep.slowest(bytes, huge);
  std::vector<double> shares;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    shares.push_back(share_of_pages(levels[i].latency, in_small[i].latency, in_huge[i].latency));
  }
  return shares;
}

/// The levels that end because a cache or memory does; a text names the others.
std::vector<CacheLevel> without_pages(Measurement& measurement, std::span<const CacheLevel> levels,
                                      std::vector<double> shares) {
  std::vector<CacheLevel> caches;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (i >= shares.size() || shares[i] < 0.5) {
      caches.push_back(levels[i]);
    } else {
      measurement.implementation +=
          fmt::format("; up to {} the places of small pages are known",
                      to_text(Bytes(static_cast<double>(levels[i].bytes))));
    }
  }
  if (!shares.empty())
    measurement.series["level_page_share"] = make_series("1", {std::move(shares)});
  return caches;
}

void compare_with_system(Measurement& measurement, std::span<const CacheLevel> levels) {
  const backend::DataCaches caches = backend::data_caches();
  if (caches.levels.empty()) return;
  const std::vector<ReportedCache> matched = match(caches.levels, levels);
  measurement.implementation += fmt::format("; {}: {}", caches.source, comparison(matched));
  if (const auto smaller = last_is_smaller(matched)) measurement.warnings.push_back(*smaller);
  std::vector<double> reported;
  reported.reserve(matched.size());
  for (const ReportedCache& each : matched) reported.push_back(each.reported.size.si());
  measurement.series["told_capacity"] = make_series("B", {std::move(reported)});
}

void add_cycles(Measurement& measurement) {
  const double clock = measurement.at("core_clock").summary.median;
  std::vector<double> cycles = measurement.at("level_latency").samples.front();
  for (double& each : cycles) each *= clock;
  measurement.series["level_cycles"] = make_series("cycles", {std::move(cycles)});
}

Measurement measure_levels(HostSweep& sweep, std::size_t stride, PageSize pages) {
  const std::size_t first =
      std::max(smallest_set, fewest_places_of_levels * stride) / stride * stride;
  const std::size_t last = std::max(first, largest_set(sweep.communicator()));
  SizeSweep done;
  visit(sweep, sweep_sizes(first, last, stride), stride, pages, done);
  const auto coarse = find_levels(sweep.slowest(done.bytes, done.latencies));
  visit(sweep, sizes_between(coarse, stride), stride, pages, done);

  const auto fine = find_levels(sweep.slowest(done.bytes, done.latencies));
  const auto shares = pages == PageSize::small && fine.size() > 1
                          ? shares_of_pages(sweep, fine, stride)
                          : std::vector<double>();

  Measurement measurement = sweep.verdict("pointer chases", "size");
  if (measurement.status != Status::ok) return measurement;
  sweep.add_series(measurement, "working_set", "B", done.bytes);
  sweep.add_series(measurement, "latency", "s", done.latencies);
  const auto levels = add_levels(measurement, sweep.slowest(done.bytes, done.latencies), "s");
  if (!levels.empty()) add_cycles(measurement);
  compare_with_system(measurement, without_pages(measurement, levels, shares));
  return measurement;
}

}  // namespace

Measurement measure_host_levels(std::size_t stride, PageSize pages, const Sampler& sampler) {
  try {
    HostSweep sweep(sampler.communicator());
    return measure_levels(sweep, stride, pages);
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
}

}  // namespace dlscale::bench
