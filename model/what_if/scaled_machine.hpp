#pragma once
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/kernels/ceilings.hpp"

namespace dlscale::model {

/// The hardware property that a what-if question scales.
enum class Hardware {
  peak,              ///< arithmetic of the device
  memory_bandwidth,  ///< memory of the device
  launch,            ///< launching kernels on the device
  host_device_bandwidth,
  host_device_latency,
  intra_node_bandwidth,
  intra_node_latency,
  inter_node_bandwidth,
  inter_node_latency,
  decode,             ///< reading, decoding and augmenting images by a loader thread
  storage_bandwidth,  ///< only if the cluster states it
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
/// Name for --set and tables: "inter_node.bandwidth".
std::string_view hardware_name(Hardware what);

/// The machine with one property `factor` > 0 times as fast: bandwidths and peaks multiply by it,
/// latencies and times of launches and loading divide by it. `dtype` selects one peak; else all
/// scale. Both the cluster's figures and the measurements change:
///   kernels  t' = t T'(F, Q) / T(F, Q), T = max(F/π, Q/β) before and after, by ceilings(); those
///     that declare no work stay as they are;
///   updates, copies  α + β n: the part by bytes, or that by start-up;
///   messages α + β m: likewise, of ranks within a node or across nodes. Those of several ranks on
///     each of several nodes count as messages between nodes. [D, derived]
/// Wrong where kernels reach neither ceiling (launches, caches), where addition is part of β, and
/// where hosts, not links, limit messages.
Machine scaled_machine(Machine machine, Hardware what, double factor,
                       std::optional<DType> dtype = std::nullopt);

/// Scales several properties at once; if both ceilings scale, all kernel times are divided by the
/// factor.
Machine scaled_machine(Machine machine, std::span<const Hardware> what, double factor);

/// The ceilings for scaling kernels: the data sheet of the cluster's device where it states both,
/// else the highest rates of the kernels measured under the conditions of `like`. Empty where
/// neither gives a bandwidth.
std::optional<Roofline> ceilings(const Machine& machine, const KernelTime& like);

}  // namespace dlscale::model
