#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "backend/compute/device_probes.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/device_watch.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// A device to probe, and who watches it meanwhile.
struct ProbeStand {
  std::unique_ptr<backend::DeviceProbes> probes;
  DeviceWitness witness;
};

using MakeProbe = std::function<std::unique_ptr<backend::Probe>(backend::DeviceProbes& probes)>;

/// Makes a probe, checks what it does and takes samples of it. Series (where the probe reads them):
/// "time", "host_time" of each sample; "cycles" and "empty_cycles" of single accesses, the last
/// 8192 of a rank at most; and the conditions of docs/RESULTS.md. The status is `unsupported` where
/// the probe cannot be made.
Measurement measure_probe(ProbeStand& stand, const MakeProbe& make, std::optional<Work> work,
                          const Sampler& sampler);

/// A sweep of pointer chases over working sets up to sixteen times the last-level cache, `stride`
/// bytes between the addresses. Series: "working_set" (B) and "latency" (cycles, the median of the
/// laps there), size by size; "level_capacity" (B) and "level_latency" (cycles) of the levels that
/// these show (see cache_levels.hpp), the slowest rank's.
Measurement measure_levels(ProbeStand& stand, std::size_t stride, backend::ChasePath path,
                           const Sampler& sampler);

}  // namespace dlscale::bench
