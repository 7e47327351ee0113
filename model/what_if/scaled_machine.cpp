#include "model/what_if/scaled_machine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Factors on the parts of a time.
struct Factors {
  double start = 1;
  double per_byte = 1;
  /// Factor on the joint uncertainty of both.
  [[nodiscard]] double larger() const { return std::max(start, per_byte); }
};

template <class Q>
void multiply(Estimate<Q>& estimate, double by) {
  estimate = by * estimate;
}

void multiply(Segment& segment, const Factors& by) {
  multiply(segment.alpha, by.start);
  multiply(segment.beta, by.per_byte);
  if (!segment.spread) return;
  segment.spread->at_mean = by.larger() * segment.spread->at_mean;
  segment.spread->slope = by.per_byte * segment.spread->slope;
}

void multiply(Piecewise& cost, const Factors& by) {
  if (cost.segments().empty()) return;
  std::vector<Segment> segments = cost.segments();
  for (Segment& segment : segments) multiply(segment, by);
  cost = Piecewise(std::move(segments));
}

/// Multiplies S_jk of the parameters (α_i, β_i, α_e, β_e, χ_e) by the factors of both.
void multiply(LinkSpread& spread, const LinkMultiples& by) {
  for (std::size_t j = 0; j < by.size(); ++j) {
    for (std::size_t k = 0; k < by.size(); ++k) spread.at(j).at(k) *= by.at(j) * by.at(k);
  }
}

void multiply(LinkRange& range, bool inter, const Factors& by) {
  auto& link = inter ? range.inter : range.intra;
  if (link) {
    multiply(link->alpha, by.start);
    multiply(link->beta, by.per_byte);
  }
  if (inter && range.both_ways) multiply(*range.both_ways, by.per_byte);
  if (!range.spread) return;
  const LinkMultiples within{by.start, by.per_byte, 1, 1, 1};
  const LinkMultiples across{1, 1, by.start, by.per_byte, by.per_byte};
  multiply(*range.spread, inter ? across : within);
}

void multiply_messages(Machine& machine, bool inter, const Factors& by) {
  for (CollectiveFit& fit : machine.collectives) {
    if ((fit.ranks > fit.ranks_on_node) == inter) multiply(fit.cost, by);
  }
  for (AlgorithmFit& fit : machine.algorithms) {
    for (LinkRange& range : fit.ranges) multiply(range, inter, by);
    for (LayoutFit& layout : fit.layouts) {
      if ((layout.layout.nodes() > 1) != inter) continue;
      multiply(layout.cost, by);
      multiply(layout.line, by);
    }
  }
}

/// Scales the other path within a node. NVLinks of fewer devices follow Cluster::intra_node where
/// all devices use them.
void multiply_tree(HostTree& tree, const Factors& by) {
  tree.latency = by.start * tree.latency;
  tree.bandwidth = tree.bandwidth / by.per_byte;
  tree.between_sockets = tree.between_sockets / by.per_byte;
  for (TreePlace& place : tree.places) place.up = place.up / by.per_byte;
}

void multiply_link(Machine& machine, bool inter, const Factors& by) {
  LinkSpec& link = inter ? machine.cluster.inter_node : machine.cluster.intra_node;
  link.latency = by.start * link.latency;
  link.bandwidth = link.bandwidth / by.per_byte;
  if (!inter && machine.cluster.node) multiply_tree(machine.cluster.node->tree, by);
  if (machine.cluster.nccl) {
    NcclFacts& nccl = *machine.cluster.nccl;
    BytesPerSecond& bandwidth = inter ? nccl.adapter_bandwidth : nccl.gpu_bandwidth;
    bandwidth = bandwidth / by.per_byte;
  }
  multiply_messages(machine, inter, by);
}

bool is_like(const KernelTime& a, const KernelTime& b) {
  return a.dtype == b.dtype && a.threads == b.threads && a.ranks_on_node == b.ranks_on_node;
}

/// The highest rates of comparable kernels.
std::optional<Roofline> spanned(const Machine& machine, const KernelTime& like) {
  Roofline roofline;
  for (const KernelTime& kernel : machine.kernels) {
    if (!is_like(kernel, like) || kernel.time.value <= Seconds()) continue;
    roofline.peak = std::max(roofline.peak, kernel.work.flops / kernel.time.value);
    roofline.bandwidth = std::max(roofline.bandwidth, kernel.work.bytes / kernel.time.value);
  }
  if (roofline.bandwidth.si() <= 0) return std::nullopt;
  if (roofline.peak.si() <= 0) roofline.peak = FlopsPerSecond(1e30);  // no operations counted
  return roofline;
}

/// The ceilings by kernel, before any change. Kernels under equal conditions share theirs.
std::vector<std::optional<Roofline>> all_ceilings(const Machine& machine) {
  std::vector<std::optional<Roofline>> result;
  for (std::size_t i = 0; i < machine.kernels.size(); ++i) {
    std::size_t first = 0;
    while (!is_like(machine.kernels[first], machine.kernels[i])) ++first;
    result.push_back(first < i ? result[first] : ceilings(machine, machine.kernels[i]));
  }
  return result;
}

/// Factors on the two ceilings.
struct Rise {
  double peak = 1;
  double bandwidth = 1;
};

void scale_kernels(Machine& machine, const Rise& rise, std::optional<DType> dtype) {
  const std::vector<std::optional<Roofline>> before = all_ceilings(machine);
  for (std::size_t i = 0; i < machine.kernels.size(); ++i) {
    KernelTime& kernel = machine.kernels[i];
    const bool declares = kernel.work.bytes.si() > 0 || kernel.work.flops.si() > 0;
    if (!before[i] || !declares || (dtype && kernel.dtype != *dtype)) continue;
    const Roofline after{rise.peak * before[i]->peak, rise.bandwidth * before[i]->bandwidth};
    multiply(kernel.time, after.time(kernel.work) / before[i]->time(kernel.work));
  }
}

void scale_device(Machine& machine, const Rise& rise, std::optional<DType> dtype) {
  scale_kernels(machine, rise, dtype);
  Device& device = machine.cluster.device;
  for (auto& [format, peak] : device.peak) {
    if (!dtype || format == *dtype) peak = rise.peak * peak;
  }
  device.memory_bandwidth = rise.bandwidth * device.memory_bandwidth;
  for (AffineFit& update : machine.update) multiply(update.cost, {1, 1 / rise.bandwidth});
  for (auto& [kernel, bandwidth] : machine.memory_bandwidth) multiply(bandwidth, rise.bandwidth);
}

/// Scales launches. A data sheet's update starts with a launch; the launch part of a measured one
/// is unknown.
void scale_launches(Machine& machine, double factor) {
  const auto give = [&](std::optional<Estimate<Seconds>>& time) {
    if (time) multiply(*time, 1 / factor);
  };
  machine.cluster.device.launch = machine.cluster.device.launch / factor;
  for (KernelTime& kernel : machine.kernels) give(kernel.give);
  for (AffineFit& copy : machine.h2d) give(copy.give);
  if (auto& graph = machine.graph_launch) {
    multiply(graph->host_start, 1 / factor);
    multiply(graph->host_per_kernel, 1 / factor);
  }
  for (AffineFit& update : machine.update) {
    give(update.give);
    if (!machine.fitted) multiply(update.cost, {1 / factor, 1});
  }
}

void scale_copies(Machine& machine, const Factors& by) {
  LinkSpec& link = machine.cluster.host_device;
  link.latency = by.start * link.latency;
  link.bandwidth = link.bandwidth / by.per_byte;
  for (AffineFit& copy : machine.h2d) multiply(copy.cost, by);
}

void scale_loading(Machine& machine, double factor) {
  machine.cluster.host.decode = machine.cluster.host.decode / factor;
  for (LoaderFit& loader : machine.loaders) {
    multiply(loader.read, 1 / factor);
    multiply(loader.decode, 1 / factor);
    multiply(loader.augment, 1 / factor);
  }
}

}  // namespace

std::string_view hardware_name(Hardware what) {
  switch (what) {
    case Hardware::peak:
      return "device.peak";
    case Hardware::memory_bandwidth:
      return "device.memory_bandwidth";
    case Hardware::launch:
      return "device.launch";
    case Hardware::host_device_bandwidth:
      return "host_device.bandwidth";
    case Hardware::host_device_latency:
      return "host_device.latency";
    case Hardware::intra_node_bandwidth:
      return "intra_node.bandwidth";
    case Hardware::intra_node_latency:
      return "intra_node.latency";
    case Hardware::inter_node_bandwidth:
      return "inter_node.bandwidth";
    case Hardware::inter_node_latency:
      return "inter_node.latency";
    case Hardware::decode:
      return "host.decode";
    case Hardware::storage_bandwidth:
      return "storage.read_bandwidth";
  }
  fail_expectation("what is a Hardware");
}

std::optional<Roofline> ceilings(const Machine& machine, const KernelTime& like) {
  const Device& device = machine.cluster.device;
  const auto peak = device.peak.find(like.dtype);
  if (peak != device.peak.end() && device.memory_bandwidth.si() > 0) {
    return Roofline{peak->second, device.memory_bandwidth};
  }
  return spanned(machine, like);
}

Machine scaled_machine(Machine machine, Hardware what, double factor, std::optional<DType> dtype) {
  EXPECT(factor > 0);
  const double time = 1 / factor;
  switch (what) {
    case Hardware::peak:
      scale_device(machine, {factor, 1}, dtype);
      break;
    case Hardware::memory_bandwidth:
      scale_device(machine, {1, factor}, dtype);
      break;
    case Hardware::launch:
      scale_launches(machine, factor);
      break;
    case Hardware::host_device_bandwidth:
      scale_copies(machine, {1, time});
      break;
    case Hardware::host_device_latency:
      scale_copies(machine, {time, 1});
      break;
    case Hardware::intra_node_bandwidth:
    case Hardware::inter_node_bandwidth:
      multiply_link(machine, what == Hardware::inter_node_bandwidth, {1, time});
      break;
    case Hardware::intra_node_latency:
    case Hardware::inter_node_latency:
      multiply_link(machine, what == Hardware::inter_node_latency, {time, 1});
      break;
    case Hardware::decode:
      scale_loading(machine, factor);
      break;
    case Hardware::storage_bandwidth:
      machine.cluster.storage.read_bandwidth = factor * machine.cluster.storage.read_bandwidth;
      break;
  }
  return machine;
}

Machine scaled_machine(Machine machine, std::span<const Hardware> what, double factor) {
  EXPECT(factor > 0);
  Rise rise;
  for (const Hardware one : what) {
    if (one == Hardware::peak) {
      rise.peak *= factor;
    } else if (one == Hardware::memory_bandwidth) {
      rise.bandwidth *= factor;
    } else {
      machine = scaled_machine(std::move(machine), one, factor);
    }
  }
  scale_device(machine, rise, std::nullopt);
  return machine;
}

}  // namespace dlscale::model
