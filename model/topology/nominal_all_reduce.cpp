#include "model/topology/nominal_all_reduce.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::model {
namespace {

using collective::Link;

NominalAllReduce ring(const Link& slowest, const Placement& placement) {
  const double steps = 2.0 * (placement.ranks - 1);
  return {"a ring over the slowest of them (1.14)",
          {steps * slowest.alpha, steps / placement.ranks * slowest.beta}};
}

/// Rings of two levels; a partly filled last node counts as full.
NominalAllReduce two_levels(const Link& inside, const Link& outside, const Placement& placement) {
  const double within = 2.0 * (placement.ranks_on_node() - 1);
  const double across = 2.0 * (placement.nodes() - 1);
  return {"rings within nodes and across them (3.13)",
          {within * inside.alpha + across * outside.alpha,
           within / placement.ranks_on_node() * inside.beta +
               across / placement.nodes() * outside.beta}};
}

NominalAllReduce trees(const Link& inside, const Link& outside, const Placement& placement) {
  const double levels = collective::ceiling_log2(placement.nodes());
  const double within = placement.ranks_on_node() - 1;
  return {"double binary trees of nodes (3.5)",
          {2 * within * inside.alpha + 2 * levels * outside.alpha,
           2 * std::max(inside.beta, outside.beta)}};
}

/// Whether `other` is at least as fast for every message, and faster for some.
bool is_beaten(const NominalAllReduce& one, const NominalAllReduce& other) {
  return other.cost.a <= one.cost.a && other.cost.b <= one.cost.b && other.cost != one.cost;
}

}  // namespace

std::vector<NominalAllReduce> nominal_all_reduces(const Cluster& cluster,
                                                  const Placement& placement) {
  EXPECT(placement.ranks >= 2);
  const AllReduceRule rule = cluster.all_reduce;
  if (rule == AllReduceRule::nccl) return {};
  const bool flat = rule == AllReduceRule::ring || placement.nodes() == 1;
  if (flat) return {ring(ring_link(cluster, placement), placement)};
  const Link inside =
      placement.ranks_on_node() > 1 ? link_within(cluster, placement) : collective::Link{};
  const Link outside = link_between_nodes(cluster, placement, 1);
  const NominalAllReduce rings = two_levels(inside, outside, placement);
  if (rule == AllReduceRule::hierarchical) return {rings};
  const Link slowest{
      std::max(inside.alpha, outside.alpha), std::max(inside.beta, outside.beta), {}};
  const std::vector<NominalAllReduce> all{ring(slowest, placement), rings,
                                          trees(inside, outside, placement)};
  std::vector<NominalAllReduce> offered;
  std::ranges::copy_if(all, std::back_inserter(offered), [&](const NominalAllReduce& one) {
    return std::ranges::none_of(
        all, [&](const NominalAllReduce& other) { return is_beaten(one, other); });
  });
  return offered;
}

const NominalAllReduce& quickest(std::span<const NominalAllReduce> offered, Bytes m) {
  EXPECT(!offered.empty());
  return *std::ranges::min_element(offered, {},
                                   [&](const NominalAllReduce& one) { return one.cost(m); });
}

int levels_of(const AddingSwitches& switches, int nodes) {
  EXPECT(nodes >= 1 && switches.down_links >= 2);
  int levels = 0;
  for (int below = nodes; below > 1 || levels == 0; ++levels) {
    below = below / switches.down_links + (below % switches.down_links > 0 ? 1 : 0);
  }
  return levels;
}

Seconds in_network_all_reduce(const AddingSwitches& switches, const collective::Links& links,
                              const Placement& placement, Bytes m) {
  EXPECT(placement.nodes() >= 2);
  const auto& [inter, intra] = links;
  const double g = placement.ranks_on_node();
  const int h = levels_of(switches, placement.nodes());
  const Seconds within =
      2 * (g - 1) * (intra.alpha + m / g * intra.beta) + (g - 1) * (m / g * intra.gamma);
  return within + inter.alpha + 2.0 * h * switches.hop + m * inter.beta / switches.efficiency;
}

}  // namespace dlscale::model
