#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/device/device_probe.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

constexpr std::size_t smallest_set = 4096;
/// Runs per size. The laps of one run cover a thousandth of a large working set; runs cover
/// different parts.
constexpr int runs_of_each = 4;

/// Largest working set relative to the last-level cache. One random access in that many hits the
/// cache, so the last sizes show the memory behind it.
constexpr double largest_set_in_caches = 16;
constexpr double largest_part_of_memory = 0.25;

std::vector<std::size_t> sizes_for(const backend::ProbedDevice& device, std::size_t stride) {
  const double largest = std::min(largest_set_in_caches * device.last_level_cache.si(),
                                  largest_part_of_memory * device.memory.si());
  const std::size_t first = (std::max(smallest_set, 2 * stride) + stride - 1) / stride * stride;
  return sweep_sizes(first, std::max(static_cast<std::size_t>(largest), first), stride);
}

/// Latency of one rank at one size, and whether the chase was right.
struct Visit {
  double latency = 0;
  double wrong = 0;
};

Visit visit(backend::DeviceProbes& probes, const backend::ChaseSpec& spec, std::size_t& runs) {
  const auto probe = probes.chase(spec);
  Visit found;
  found.wrong = static_cast<double>(probe->wrong_elements());
  std::vector<double> laps;
  for (int run = 0; run < runs_of_each; ++run) {
    const backend::Reading reading = probe->run();
    laps.insert(laps.end(), reading.cycles.begin(), reading.cycles.end());
  }
  runs += runs_of_each + 1;
  found.latency = median(laps);
  return found;
}

/// The sizes, and this rank's latencies.
struct Sweep {
  std::vector<double> bytes;
  std::vector<double> latencies;
  double wrong = 0;
};

Sweep sweep(ProbeContext& probe_context, std::size_t stride, backend::ChasePath path,
            backend::Communicator& communicator, std::size_t& runs) {
  Sweep done;
  for (const std::size_t bytes : sizes_for(probe_context.probes->device(), stride)) {
    together(communicator, [&] {
      const Visit found =
          visit(*probe_context.probes, {.bytes = bytes, .stride = stride, .path = path}, runs);
      done.bytes.push_back(static_cast<double>(bytes));
      done.latencies.push_back(found.latency);
      done.wrong += found.wrong;
    });
  }
  communicator.all_reduce(std::span(&done.wrong, 1), backend::Reduction::sum);
  return done;
}

Measurement to_measurement(const Sweep& done, backend::Communicator& communicator) {
  Measurement measurement;
  if (done.wrong > 0) {
    measurement.status = Status::wrong;
    measurement.reason = fmt::format("{} elements are not what they should be", done.wrong);
    return measurement;
  }
  measurement.max_relative_error = 0;
  measurement.series["working_set"] = make_series("B", gather_on_ranks(communicator, done.bytes));
  measurement.series["latency"] =
      make_series("cycles", gather_on_ranks(communicator, done.latencies));
  add_levels(measurement,
             paired(measurement.at("working_set").samples.front(),
                    slowest_rank(measurement.at("latency").samples)),
             "cycles");
  return measurement;
}

}  // namespace

Measurement measure_levels(ProbeContext& probe_context, std::size_t stride, backend::ChasePath path,
                           const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  Measurement measurement;
  try {
    measurement = with_conditions(probe_context.witness, communicator, [&](std::size_t& runs) {
      return to_measurement(sweep(probe_context, stride, path, communicator, runs), communicator);
    });
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  measurement.implementation = fmt::format("pointer chases, {} runs of each size", runs_of_each);
  return measurement;
}

}  // namespace dlscale::bench
