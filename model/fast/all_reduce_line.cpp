#include "model/fast/all_reduce_line.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"

namespace dlscale::model {
namespace {

using collective::Link;
using collective::Links;

constexpr std::array<std::string_view, 5> lines{"ring", "recursive_doubling", "rabenseifner",
                                                "binomial", "hierarchical"};

Link only_startup(const Link& link) {
  return {link.alpha, {}, {}};
}

Link only_bytes(const Link& link) {
  return {{}, link.beta, link.gamma};
}

/// Every rule here adds up α and β M apart from each other.
LinearCost line(Seconds startup, Seconds one_byte) {
  return {startup, one_byte / Bytes(1)};
}

}  // namespace

std::optional<LinearCost> all_reduce_line(const collective::Algorithm& algorithm,
                                          const Links& links,
                                          const collective::Settings& settings) {
  EXPECT(algorithm.collective == collective::Collective::all_reduce);
  if (std::ranges::find(lines, algorithm.name) == lines.end()) return std::nullopt;
  if (!collective::obstacle(algorithm, settings).empty()) return std::nullopt;
  const Links startups{only_startup(links.inter), only_startup(links.intra)};
  const Links bytes{only_bytes(links.inter), only_bytes(links.intra)};
  return line(algorithm.cost(startups, settings, Bytes()),
              algorithm.cost(bytes, settings, Bytes(1)));
}

std::optional<LinearCost> nominal_line(const Machine& machine, const Placement& placement) {
  EXPECT(placement.ranks >= 2);
  if (machine.fitted || !machine.all_reduce_asked.empty()) return std::nullopt;
  const Cluster& cluster = machine.cluster;
  switch (cluster.all_reduce) {
    case AllReduceRule::ring: {
      const Link link = ring_link(cluster, placement);
      return all_reduce_line(*collective::find(collective::Collective::all_reduce, "ring"),
                             {link, link}, {.p = placement.ranks});
    }
    case AllReduceRule::hierarchical: {
      Cluster without_latency = cluster;
      without_latency.intra_node.latency = {};
      without_latency.inter_node.latency = {};
      if (without_latency.node) without_latency.node->tree.latency = {};
      return line(hierarchical_all_reduce(cluster, placement, Bytes()),
                  hierarchical_all_reduce(without_latency, placement, Bytes(1)));
    }
    case AllReduceRule::nccl:
      return std::nullopt;
  }
  fail_expectation("all_reduce is an AllReduceRule");
}

}  // namespace dlscale::model
