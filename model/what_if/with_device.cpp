#include "model/what_if/with_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "model/roofline/kernels/ceilings.hpp"

namespace dlscale::model {
namespace {

bool states(const Device& device, DType dtype) {
  return device.peak.contains(dtype) && device.memory_bandwidth.si() > 0;
}

Roofline roofline_of(const Device& device, DType dtype) {
  return {device.peak.at(dtype), device.memory_bandwidth};
}

/// Scales a kernel by T' / T, with an interval between the ratios of the two ceilings.
void scale(KernelTime& kernel, const Device& from, const Device& to) {
  const Roofline before = roofline_of(from, kernel.dtype);
  const Roofline after = roofline_of(to, kernel.dtype);
  const double by_peak = before.peak / after.peak;
  const double by_memory = before.bandwidth / after.bandwidth;
  const bool declares = kernel.work.bytes.si() > 0 || kernel.work.flops.si() > 0;
  const double ratio =
      declares ? after.time(kernel.work) / before.time(kernel.work) : std::max(by_peak, by_memory);
  Estimate<Seconds>& time = kernel.time;
  time.value = ratio * time.value;
  time.low = std::min(by_peak, by_memory) * time.low;
  time.high = std::max(by_peak, by_memory) * time.high;
}

void scale(AffineFit& update, double factor) {
  if (update.cost.segments().empty()) return;
  std::vector<Segment> segments = update.cost.segments();
  for (Segment& segment : segments) {
    segment.beta = factor * segment.beta;
    if (segment.spread) segment.spread->slope = factor * segment.spread->slope;
  }
  update.cost = Piecewise(std::move(segments));
}

void refuse_unknown(const Machine& machine, const Device& to, DType dtype) {
  const Cluster& cluster = machine.cluster;
  if (cluster.device.kind == DeviceKind::cpu) {
    throw ConfigError(
        fmt::format("device {} takes the place of a GPU, and {} computes on its processor ({}). "
                    "Give a cluster of GPUs.",
                    to.name, cluster.name, cluster.device.name));
  }
  if (!machine.fitted) return;
  if (!states(to, dtype)) {
    throw ConfigError(fmt::format(
        "device {}: its data sheet gives no peak in {}. Ask for another precision, or for another "
        "device.",
        to.name, dtype_name(dtype)));
  }
  if (states(cluster.device, dtype)) return;
  throw ConfigError(fmt::format(
      "device {}: machine {} was fitted to measurements of {}, and its cluster states no peak in "
      "{} and memory bandwidth of it to scale them by. Calibrate with a cluster that states "
      "them, or predict from the data sheets of a cluster.",
      to.name, cluster.name, cluster.device.name, dtype_name(dtype)));
}

std::string links_stay(const Cluster& cluster) {
  return cluster.nccl && cluster.all_reduce == AllReduceRule::nccl
             ? "hosts and links, and the generation that NCCL's cost model is told, are those of "
               "before"
             : "hosts and links are those of before";
}

}  // namespace

Machine with_device(Machine machine, const DeviceSheet& sheet, DType dtype,
                    std::vector<std::string>& notes) {
  const Device from = machine.cluster.device;
  Device to = nominal_device(sheet, Seconds(1));
  to.launch = from.launch;  // on no data sheet, and 0 where kernels were measured
  refuse_unknown(machine, to, dtype);
  notes.push_back(fmt::format("{} in place of {}, by data sheet: {}", to.name, from.name,
                              links_stay(machine.cluster)));
  machine.cluster.device = to;
  if (!machine.fitted) {
    Machine other = nominal_machine(machine.cluster);
    other.inter_node_stated = machine.inter_node_stated;
    other.all_reduce_override = machine.all_reduce_override;
    return other;
  }
  std::erase_if(machine.kernels, [&](const KernelTime& kernel) {
    return !states(from, kernel.dtype) || !states(to, kernel.dtype);
  });
  for (KernelTime& kernel : machine.kernels) scale(kernel, from, to);
  const double by_memory = from.memory_bandwidth / to.memory_bandwidth;
  for (AffineFit& update : machine.update) scale(update, by_memory);
  for (auto& [kernel, bandwidth] : machine.memory_bandwidth) {
    bandwidth = (1 / by_memory) * bandwidth;
  }
  notes.push_back(
      fmt::format("kernels and updates measured on {} and scaled by the ratio of the ceilings of "
                  "both data sheets, whichever of them holds a kernel back: nothing was measured "
                  "on {}",
                  from.name, to.name));
  return machine;
}

}  // namespace dlscale::model
