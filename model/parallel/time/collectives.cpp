#include "model/parallel/time/collectives.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dlscale::model::parallel_time {
namespace {

constexpr double rounding = 1e-9;  ///< of strides that are shares of a node
constexpr double full_node = 3;    ///< log2 of 8 GPUs, to which node_start refers

constexpr std::array<std::string_view, 4> slow_networks{"efa", "slingshot", "ethernet-tcp",
                                                        "aries"};

}  // namespace

bool starts_slowly(std::string_view network_kind) {
  return std::ranges::find(slow_networks, network_kind) != slow_networks.end();
}

Collectives::Collectives(const TimeConstants& constants, const Links& links)
    : links_(links),
      node_share_(constants.node_share),
      network_share_(constants.network_share),
      node_start_(constants.node_start),
      network_start_(links.starts_slowly ? constants.slow_network_start : constants.network_start),
      ring_steps_(constants.ring_steps),
      probe_left_(constants.probe_left) {}

Collectives::Place Collectives::place(const Group& group) const {
  const double fitting = std::floor(links_.node_gpus / group.stride + rounding);
  const double in_node = std::clamp(fitting, 1.0, std::max(1.0, group.ranks));
  return {in_node, std::ceil(group.ranks / in_node)};
}

double Collectives::node_start(const Place& at) const {
  return node_start_ * std::log2(std::max(at.in_node, 1.0001)) / full_node;
}

double Collectives::probed(const Place& at, bool reduces) const {
  const LinkProbe& probe = *links_.probe;
  const double ranks = links_.gpus;
  const double nodes = std::max(ranks / links_.node_gpus, 2.0);
  const double start = reduces ? 2 * std::log2(nodes) * network_start_
                               : std::min(ranks - 1, ring_steps_) * network_start_;
  const double sent = (reduces ? 2 : 1) * (ranks - 1) / ranks * probe.bytes;
  const double whole = sent / (reduces ? probe.all_reduce : probe.all_gather);
  const double bare = sent / std::max(whole - start, probe_left_ * whole);
  const double node = reduces ? probe.node_all_reduce : probe.node_all_gather;
  const double sheet = std::min(node, network_share_ * links_.network);
  const double part = std::clamp(std::log2(std::max(at.nodes, 2.0)) / std::log2(nodes), 0.0, 1.0);
  return std::pow(std::min(bare, sheet), part) * std::pow(sheet, 1 - part);
}

double Collectives::bandwidth(const Place& at, bool reduces) const {
  double within = inside();
  if (links_.probe) {
    within = reduces ? links_.probe->node_all_reduce : links_.probe->node_all_gather;
  }
  if (at.nodes <= 1) return within;
  const bool is_probed = links_.probe && links_.gpus > links_.node_gpus;
  const double node = is_probed ? probed(at, reduces) : network_share_ * links_.network;
  return std::min(within, node * at.in_node / links_.node_gpus);
}

double Collectives::all_reduce(const Group& group, double bytes) const {
  if (group.ranks <= 1) return 0;
  const Place at = place(group);
  const double start =
      2 * node_start(at) + (at.nodes > 1 ? 2 * std::log2(at.nodes) * network_start_ : 0);
  return 2 * (group.ranks - 1) / group.ranks * bytes / bandwidth(at, true) + start;
}

double Collectives::all_gather(const Group& group, double bytes) const {
  if (group.ranks <= 1) return 0;
  const Place at = place(group);
  const double steps = at.nodes > 1 ? std::min(group.ranks - 1, ring_steps_) : 0;
  return (group.ranks - 1) / group.ranks * bytes / bandwidth(at, false) + node_start(at) +
         steps * network_start_;
}

double Collectives::all_to_all(const Group& group, double bytes, double active, bool once) const {
  if (group.ranks <= 1) return 0;
  const Place at = place(group);
  double within = inside();
  double across_gpu = across();
  if (links_.probe) {
    within = links_.probe->node_all_gather;
    if (links_.gpus > links_.node_gpus) across_gpu = links_.probe->all_gather / links_.node_gpus;
  }
  double far = 0;
  double start = node_start(at);
  if (at.nodes > 1) {
    const double copies = std::max(active, 1.0);
    far = (at.nodes - 1) / at.nodes;
    if (once) far *= at.nodes * (1 - std::pow(1 - 1 / at.nodes, copies)) / copies;
    start += std::log2(std::max(group.ranks, 2.0)) * network_start_;
  }
  return std::max((at.in_node - 1) / group.ranks * bytes / within, far * bytes / across_gpu) +
         start;
}

}  // namespace dlscale::model::parallel_time
