#pragma once
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/kernels/roofline.hpp"

namespace dlscale::model {

/// What of a machine a what-if question makes faster or slower.
enum class Hardware {
  peak,              ///< arithmetic of the device
  memory_bandwidth,  ///< of the device
  launch,            ///< giving a device its kernels
  host_device_bandwidth,
  host_device_latency,
  intra_node_bandwidth,
  intra_node_latency,
  inter_node_bandwidth,
  inter_node_latency,
  decode,             ///< reading, decoding and augmenting pictures by a loader thread
  storage_bandwidth,  ///< as far as the cluster states it
};
inline constexpr std::array all_hardware{Hardware::peak,
                                         Hardware::memory_bandwidth,
                                         Hardware::launch,
                                         Hardware::host_device_bandwidth,
                                         Hardware::host_device_latency,
                                         Hardware::intra_node_bandwidth,
                                         Hardware::intra_node_latency,
                                         Hardware::inter_node_bandwidth,
                                         Hardware::inter_node_latency,
                                         Hardware::decode,
                                         Hardware::storage_bandwidth};
/// As --set and tables call it: "inter_node.bandwidth".
std::string_view hardware_name(Hardware what);

/// The same machine with one thing `factor` > 0 times as fast: bandwidths and peaks times the
/// factor, latencies and times of giving and loading over it. Of a peak only that of `dtype` where
/// one is given. Both the cluster's figures and what was measured change:
///   kernels  t' = t T'(F, Q) / T(F, Q), T = max(F/π, Q/β) before and after, by ceilings(); those
///     that declare no work stay as they are;
///   updates, copies  α + β n: the part by bytes, or that by start-up;
///   messages α + β m: likewise, of ranks within a node or across nodes. Those of several ranks on
///     each of several nodes count as messages between nodes. [D, derived]
/// Wrong where kernels reach neither ceiling (launches, caches), where adding is part of β, and
/// where hosts, not links, set the pace of messages.
Machine faster(Machine machine, Hardware what, double factor,
               std::optional<DType> dtype = std::nullopt);

/// Several things at once; of both ceilings together, all kernels over the factor.
Machine faster(Machine machine, std::span<const Hardware> what, double factor);

/// What kernels are scaled by: the data sheet of the cluster's device where it states both, else
/// the highest rates of the kernels measured under the conditions of `like`. Nothing where neither
/// tells a bandwidth.
std::optional<Roofline> ceilings(const Machine& machine, const KernelTime& like);

}  // namespace dlscale::model
