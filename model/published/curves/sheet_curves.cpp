#include "model/published/curves/sheet_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/collective/names.hpp"
#include "model/collectives/collective_question.hpp"
#include "model/machine/machine.hpp"
#include "model/topology/datasheet_efficiency.hpp"

namespace dlscale::model {
namespace {

using cases::BufferMemory;
using cases::CasePrediction;
using cases::CurveCase;

/// A kind of NVLinks, and the shipped cluster whose nodes have them.
struct NvlinkNode {
  std::string_view kind;
  const char* cluster;
};
constexpr std::array nvlink_nodes{
    NvlinkNode{"nvlink1", "dgx1_p100"}, NvlinkNode{"nvlink2", "dgx1"},
    NvlinkNode{"nvswitch2", "dgx2"},    NvlinkNode{"nvlink3", "dgx_a100"},
    NvlinkNode{"nvlink4", "dgx_h100"},  NvlinkNode{"nvlink5", "dgx_b200"}};

/// Longer times, of links that no hardware has, are not told.
constexpr Seconds longest(1e9);

[[noreturn]] void refuse(const std::string& why) {
  throw ConfigError(why);
}

int nodes_of(const CurveCase& curve) {
  return curve.nodes > 0 ? curve.nodes : curve.ranks;
}

int ranks_per_node(const CurveCase& curve) {
  const int nodes = nodes_of(curve);
  if (curve.cluster.gpus_per_node > 0 && curve.buffer == BufferMemory::device) {
    return curve.cluster.gpus_per_node;
  }
  return (curve.ranks + nodes - 1) / nodes;
}

/// Devices that PCI Express, or a memory, joins.
Cluster plain_node(const CurveCase& curve) {
  Cluster cluster;
  cluster.devices_per_node = ranks_per_node(curve);
  cluster.device.memory_bandwidth = BytesPerSecond(900e9);  // of messages alone, none is copied
  cluster.host_device.bandwidth = pcie3_x16;  // of ranks that are alone on their nodes
  if (const auto& link = curve.cluster.intra_node) {
    cluster.intra_node = {link->kind, {}, link->bandwidth, {}};
  }
  return cluster;
}

Cluster node_of(const CurveCase& curve) {
  const auto& link = curve.cluster.intra_node;
  const auto* known =
      link ? std::ranges::find(nvlink_nodes, std::string_view(link->kind), &NvlinkNode::kind)
           : nvlink_nodes.end();
  if (known == nvlink_nodes.end()) return plain_node(curve);
  Cluster cluster = load_cluster(known->cluster);
  if (cluster.devices_per_node != ranks_per_node(curve) ||
      cluster.intra_node.bandwidth != link->bandwidth) {
    refuse(fmt::format("its nodes are not like those of {}, the one cluster with {}", cluster.name,
                       link->kind));
  }
  return cluster;
}

/// The cluster with the links that the curve states.
Cluster cluster_of(const CurveCase& curve) {
  if (curve.buffer == BufferMemory::other || curve.ranks < 2 || curve.ranks > most_message_ranks ||
      nodes_of(curve) > curve.ranks) {
    refuse("its buffers, or its number of ranks, are not of a kind that is predicted");
  }
  Cluster cluster = node_of(curve);
  cluster.name = curve.id;
  cluster.nodes = nodes_of(curve);
  cluster.device.kind = curve.buffer == BufferMemory::host ? DeviceKind::cpu : DeviceKind::gpu;
  if (cluster.nodes == 1) return cluster;
  const auto& link = curve.cluster.inter_node;
  if (!link) refuse("the link between its nodes is not stated");
  const LinkKind kind = load_link_kind(link->kind);
  const Seconds latency = kind.latency ? kind.latency->low : Seconds();
  cluster.inter_node = {link->kind, latency, link->bandwidth, {}};
  cluster.network = NetworkLinks{};
  cluster.network->kind = link->kind;
  cluster.network->adapters = link->nics.value_or(1);
  if (cluster.nccl) {
    cluster.nccl->adapters = cluster.network->adapters;
    cluster.nccl->adapter_bandwidth = link->bandwidth / cluster.network->adapters;
  }
  return cluster;
}

CollectiveAnswer answer_to(const CurveCase& curve, std::string_view algorithm) {
  const auto named = collective::collective_named(curve.collective);
  if (!named) refuse(fmt::format("{} is not a collective here", curve.collective));
  Machine machine;
  machine.cluster = cluster_of(curve);
  const auto words = single_algorithms(machine, *named);
  if (std::ranges::find(words, algorithm) == words.end()) {
    refuse(fmt::format("nothing of its nodes says what {} does", algorithm));
  }
  return answer(machine, {*named, {curve.ranks}, curve.query, {std::string(algorithm)}});
}

CasePrediction predict_one(const CurveCase& curve, std::string_view algorithm) {
  if (curve.query.empty()) return cases::not_covered(curve.id, "no size is asked");
  CasePrediction prediction;
  prediction.id = curve.id;
  prediction.unit = cases::CaseUnit::time_s;
  try {
    for (const CollectiveTime& each : answer_to(curve, algorithm).times) {
      if (!(each.time.high < longest)) refuse("its links are too slow for a time to be told");
      prediction.values.emplace_back(
          cases::PredictedValue{each.time.value.si(), each.time.low.si(), each.time.high.si()});
    }
  } catch (const ConfigError& error) {
    return cases::not_covered(curve.id, error.what());
  }
  return prediction;
}

}  // namespace

std::vector<CasePrediction> predict_by_sheets(std::span<const CurveCase> curves,
                                              std::string_view algorithm) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(curves.size());
  for (const CurveCase& curve : curves) predictions.push_back(predict_one(curve, algorithm));
  return predictions;
}

}  // namespace dlscale::model
