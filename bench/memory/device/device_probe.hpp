#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "backend/compute/device_probes.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/device_watch.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// A device to probe, and its monitor.
struct ProbeContext {
  std::unique_ptr<backend::DeviceProbes> probes;
  DeviceWitness witness;
};

using MakeProbe = std::function<std::unique_ptr<backend::Probe>(backend::DeviceProbes& probes)>;

/// Makes a probe, checks its result and takes samples. Series, if the probe reads them: "time" and
/// "host_time" of each sample; "cycles" and "empty_cycles" of single accesses, at most the last
/// 8192 of a rank; and the conditions in docs/reference/results. The status is `unsupported` if the
/// probe cannot be made.
Measurement measure_probe(ProbeContext& probe_context, const MakeProbe& make,
                          std::optional<Work> work, const Sampler& sampler);

/// A sweep of pointer chases over working sets up to sixteen times the last-level cache, with
/// `stride` bytes between addresses. Series by size: "working_set" (B) and "latency" (cycles,
/// median of the laps). Series by level of the slowest rank: "level_capacity" (B) and
/// "level_latency" (cycles) (see cache_levels.hpp).
Measurement measure_levels(ProbeContext& probe_context, std::size_t stride, backend::ChasePath path,
                           const Sampler& sampler);

}  // namespace dlscale::bench
