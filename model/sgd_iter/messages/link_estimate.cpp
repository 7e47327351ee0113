#include "model/sgd_iter/messages/link_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/sgd_iter/messages/datasheet_links.hpp"
#include "model/sgd_iter/messages/pair_time.hpp"

namespace dlscale::model {
namespace {

constexpr std::string_view all_reduce_name = "all_reduce";

std::string_view place_of(LinkKind kind) {
  return kind == LinkKind::inter ? "between nodes" : "within a node";
}

LinkEstimate nominal(const Machine& machine, LinkKind kind, const Placement& placement,
                     std::string_view from) {
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

}  // namespace

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

}  // namespace dlscale::model
