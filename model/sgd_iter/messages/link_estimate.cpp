#include "model/sgd_iter/messages/link_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "model/communication/carrier.hpp"
#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/link_words.hpp"

namespace dlscale::model {
namespace {

bool is_there(const LinkSpec& link) {
  return link.bandwidth > BytesPerSecond();
}

void quicken(Cluster& cluster) {
  cluster.intra_node.latency = {};
  cluster.inter_node.latency = {};
  if (cluster.node) cluster.node->tree.latency = {};
  if (cluster.network) cluster.network->efficiency = 1;
}

Seconds slower_startup(Seconds stated, Seconds startup, double widening) {
  return stated + widening * std::max(Seconds(), startup - stated);
}

/// The remaining part of the bandwidth.
double part(const LinkShares& shares, double widening) {
  return 1 / (1 + widening * (1 / shares.efficiency - 1));
}

/// Slows down the host tree: PCI Express, or NVLink on POWER9, for which there are no trainings.
void slow_down(HostTree& tree, double widening) {
  const LinkShares shares = pcie_shares(tree.bandwidth);
  const double left = part(shares, widening);
  tree.latency = slower_startup(tree.latency, shares.startup, widening);
  tree.bandwidth = left * tree.bandwidth;
  tree.between_sockets = left * tree.between_sockets;
  for (TreePlace& place : tree.places) place.up = left * place.up;
}

void slow_down_within(Cluster& cluster, double widening) {
  const LinkShares shares = shares_within(cluster);
  const double left = part(shares, widening);
  LinkSpec& link = cluster.intra_node;
  link.latency = slower_startup(link.latency, shares.startup, widening);
  link.bandwidth = left * link.bandwidth;
  if (cluster.nccl) cluster.nccl->gpu_bandwidth = left * cluster.nccl->gpu_bandwidth;
}

/// Slows down the links between nodes; shares are of the nominal rate, payload or not.
void slow_down_between(Cluster& cluster, double widening) {
  const LinkShares shares = shares_between(cluster);
  double left = part(shares, widening);
  if (cluster.network) {
    left = std::min(left, cluster.network->efficiency);
    cluster.network->efficiency = 1;
  }
  LinkSpec& link = cluster.inter_node;
  link.latency = slower_startup(link.latency, shares.startup, widening);
  link.bandwidth = left * link.bandwidth;
  if (cluster.nccl) cluster.nccl->adapter_bandwidth = left * cluster.nccl->adapter_bandwidth;
}

/// Whether a ring over nodes also crosses the links within them.
bool passes_both(const Cluster& cluster) {
  return cluster.all_reduce == AllReduceRule::ring && cluster.devices_per_node > 1 &&
         is_there(cluster.intra_node) && is_there(cluster.inter_node);
}

void slow_down(Cluster& cluster, double widening) {
  if (is_there(cluster.intra_node)) slow_down_within(cluster, widening);
  if (is_there(cluster.inter_node)) slow_down_between(cluster, widening);
  if (passes_both(cluster)) {
    cluster.inter_node.bandwidth =
        one_after_the_other(cluster.inter_node.bandwidth, cluster.intra_node.bandwidth);
  }
  if (cluster.node && cluster.node->tree.bandwidth > BytesPerSecond()) {
    slow_down(cluster.node->tree, widening);
  }
}

constexpr std::string_view all_reduce_name = "all_reduce";

std::string_view place_of(LinkKind kind) {
  return kind == LinkKind::inter ? "between nodes" : "within a node";
}

LinkEstimate nominal(const Machine& machine, LinkKind kind, const Placement& placement,
                     std::string_view from) {
  if (!machine.fitted) {
    const SheetLink link = kind == LinkKind::inter ? sheet_link_between(machine, placement)
                                                   : sheet_link_within(machine, placement);
    return {{Estimate<Seconds>::exact(link.start), Estimate<SecondsPerByte>::exact(link.per_byte)},
            fmt::format("{} {}", from, place_of(kind)),
            true};
  }
  const auto of = [&](const Cluster& cluster) {
    return kind == LinkKind::inter ? link_between_nodes(cluster, placement, 1)
                                   : link_within(cluster, placement);
  };
  const collective::Link stated = of(machine.cluster);
  const DatasheetLinks ends = datasheet_links(machine);
  const collective::Link quick = of(ends.quick);
  const collective::Link slow = of(ends.slow);
  return {{{stated.alpha, quick.alpha, slow.alpha}, {stated.beta, quick.beta, slow.beta}},
          fmt::format("{} {}", from, place_of(kind)),
          true};
}

std::optional<LinkEstimate> link_by_pair(const Machine& machine, LinkKind kind, Schedule schedule,
                                         Bytes transfer) {
  const Placement two{2, kind == LinkKind::inter ? 1 : 2};
  const CollectiveFit* pair = measured_pair(machine, two, schedule);
  if (pair == nullptr) return std::nullopt;
  const Segment& segment = pair->cost.segment(transfer);
  return LinkEstimate{{segment.alpha, segment.beta},
                      fmt::format("messages between two ranks {}", place_of(kind))};
}

/// The link in the range of `size`, or in the nearest range that has it.
const LinkFit* link_at(const AlgorithmFit& fit, LinkKind kind, Bytes size) {
  const auto link = kind == LinkKind::inter ? &LinkRange::inter : &LinkRange::intra;
  const LinkFit* found = nullptr;
  for (const LinkRange& range : fit.ranges) {
    if (range.*link && (found == nullptr || range.from <= size)) found = &*(range.*link);
  }
  return found;
}

std::optional<LinkEstimate> by_closed_form(const Machine& machine, LinkKind kind, Schedule schedule,
                                           Bytes transfer, Bytes m) {
  const LinkFit* found = nullptr;
  bool as_wanted = false;
  std::string name;
  for (const AlgorithmFit& fit : machine.algorithms) {
    if (fit.carrier.collective != all_reduce_name || fit.asked != "library") continue;
    if (fit.carrier.algorithm == no_change_with_ranks) continue;
    const LinkFit* link = link_at(fit, kind, fit.range_of == RangeOf::transfer ? transfer : m);
    const bool suits = fit.waiting == waiting_in(schedule);
    if (link == nullptr || (found != nullptr && (as_wanted || !suits))) continue;
    found = link;
    as_wanted = suits;
    name = fit.carrier.name();
  }
  if (found == nullptr) return std::nullopt;
  return LinkEstimate{
      *found, fmt::format("the closed form of {}, fitted to all-reduces {}", name, place_of(kind))};
}

std::optional<LinkEstimate> link_by_all_reduce(const Machine& machine, LinkKind kind,
                                               Schedule schedule, Bytes m) {
  const CollectiveFit* found = nullptr;
  const auto is_better = [&](const CollectiveFit& a, const CollectiveFit& b) {
    const bool suits = a.waiting == waiting_in(schedule);
    if (suits != (b.waiting == waiting_in(schedule))) return suits;
    return a.ranks < b.ranks;
  };
  for (const CollectiveFit& fit : machine.collectives) {
    const bool across = fit.ranks > fit.ranks_on_node;
    if (fit.collective != all_reduce_name || across != (kind == LinkKind::inter)) continue;
    if (across && fit.ranks_on_node > 1) continue;  // its ring crosses both kinds
    if (found == nullptr || is_better(fit, *found)) found = &fit;
  }
  if (found == nullptr) return std::nullopt;
  const Segment& segment = found->cost.segment(m);
  const double p = found->ranks;
  const double rounds = 2 * (p - 1);
  return LinkEstimate{
      {(1 / rounds) * segment.alpha, (p / rounds) * segment.beta},
      fmt::format("all-reduces on {} ranks {}, taken as a ring", found->ranks, place_of(kind))};
}

bool is_over_same_kind(const CollectiveFit& pair, const Placement& placement) {
  return (pair.ranks > pair.ranks_on_node) == (placement.nodes() > 1);
}

/// Time by a single-level closed form, with all messages on one kind of link.
Estimate<Seconds> time_of(const LinkTerms& terms, const Segment& pair,
                          const Estimate<SecondsPerByte>& gamma, Bytes m) {
  const double alphas = terms.alpha_intra + terms.alpha_inter;
  const Bytes sent = (terms.beta_intra + terms.beta_inter) * m;
  const auto by = [&](auto bound, auto per_byte) {
    return alphas * pair.alpha.*bound + sent * (pair.beta.*per_byte) +
           terms.gamma * m * (gamma.*per_byte);
  };
  using Time = Estimate<Seconds>;
  using Slope = Estimate<SecondsPerByte>;
  return {by(&Time::value, &Slope::value), by(&Time::low, &Slope::low),
          by(&Time::high, &Slope::high)};
}

}  // namespace

LinkShares shares_within(const Cluster& cluster) {
  const BytesPerSecond rate = cluster.intra_node.bandwidth;
  if (cluster.node) return cluster.node->nvlinks ? nvlink_shares() : pcie_shares(rate);
  if (may_be_pcie_or_nvlink(cluster)) return slower_of(pcie_shares(rate), nvlink_shares());
  return names_nvlinks(cluster) ? nvlink_shares() : pcie_shares(rate);
}

LinkShares shares_between(const Cluster& cluster) {
  const BytesPerSecond rate = cluster.inter_node.bandwidth;
  if (may_be_tcp_or_rdma(cluster)) return slower_of(tcp_shares(rate, 1), rdma_shares(rate, 1));
  const int adapters = cluster.network ? cluster.network->adapters : 1;
  return names_sockets(cluster) ? tcp_shares(rate, adapters) : rdma_shares(rate, adapters);
}

std::vector<Note> untold_links(const Cluster& cluster, const Placement& placement) {
  std::vector<Note> untold;
  if (placement.nodes() > 1 && may_be_tcp_or_rdma(cluster)) {
    untold.push_back({NoteKind::network_kind_unknown, {cluster.name}});
  }
  if (placement.ranks_on_node() > 1 && may_be_pcie_or_nvlink(cluster)) {
    untold.push_back({NoteKind::device_links_unknown, {cluster.name}});
  }
  return untold;
}

DatasheetLinks datasheet_links(const Machine& machine) {
  DatasheetLinks links{machine.cluster, machine.cluster};
  quicken(links.quick);
  slow_down(links.slow, machine.fitted ? deviations_of_95 / deviations_of_90 : 1);
  return links;
}

std::optional<LinkEstimate> estimate_link(const Machine& machine, LinkKind kind,
                                          const Placement& placement, Schedule schedule,
                                          Bytes transfer, Bytes m) {
  if (kind == LinkKind::inter && machine.inter_node_stated) {
    return nominal(machine, kind, placement, "the link that was stated");
  }
  if (auto link = link_by_pair(machine, kind, schedule, transfer)) return link;
  if (auto link = by_closed_form(machine, kind, schedule, transfer, m)) return link;
  if (auto link = link_by_all_reduce(machine, kind, schedule, m)) return link;
  const Cluster& cluster = machine.cluster;
  const LinkSpec& spec = kind == LinkKind::inter ? cluster.inter_node : cluster.intra_node;
  if (spec.bandwidth <= BytesPerSecond()) return std::nullopt;
  return nominal(machine, kind, placement, "the data sheet of the link");
}

const CollectiveFit* measured_pair(const Machine& machine, const Placement& placement,
                                   Schedule schedule) {
  const std::string_view wanted = waiting_in(schedule);
  const auto is_better = [wanted](const CollectiveFit& a, const CollectiveFit& b) {
    const bool as_wanted = a.waiting == wanted;
    if (as_wanted != (b.waiting == wanted)) return as_wanted;
    return a.ranks < b.ranks;
  };
  const CollectiveFit* found = nullptr;
  for (const CollectiveFit& fit : machine.collectives) {
    if (fit.collective != "sendrecv" || !is_over_same_kind(fit, placement)) continue;
    if (found == nullptr || is_better(fit, *found)) found = &fit;
  }
  return found;
}

PairTime all_reduce_by_pair(const Machine& machine, const CollectiveFit& pair,
                            const Placement& placement, Bytes m,
                            std::span<const std::string_view> algorithms) {
  Estimate<SecondsPerByte> gamma{};
  if (machine.reduction) gamma = machine.reduction->per_byte;
  PairTime best;
  for (const std::string_view name : algorithms) {
    const Carrier carrier{"all_reduce", ChosenBy::fit, std::string(name), 1};
    const auto terms = carrier.terms(placement, m);
    if (!terms) continue;
    const Segment& segment = pair.cost.segment(terms->transfer * m);
    const Estimate<Seconds> time = time_of(*terms, segment, gamma, m);
    if (best.algorithm.empty() || time.value < best.time.value) best = {time, name};
  }
  EXPECT(!best.algorithm.empty());
  return best;
}

}  // namespace dlscale::model
