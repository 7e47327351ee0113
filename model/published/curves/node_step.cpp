#include "model/published/curves/node_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/results/bandwidths.hpp"
#include "model/published/curves/rank_step.hpp"

namespace dlscale::model {
namespace {

/// Bytes that cross the adapters of a node, for each byte of the message.
double between_nodes(const NodeStep& step) {
  const double each = bus_factor(step.collective, step.nodes).value();
  if (step.collective != "all_to_all") return each;
  return each * step.ranks / step.nodes;
}

}  // namespace

Seconds start_up(std::string_view link_kind) {
  if (link_kind == "ethernet-tcp") return 186.0_us;
  if (link_kind == "efa") return 60.0_us;
  return 30.0_us;
}

CurveTime over_nodes(const RankCurve& in_node, const NodeStep& step, Bytes m) {
  const double phases = step.collective == "all_reduce" ? 2 : 1;
  const double fewest = phases * std::log2(step.nodes);
  const double most = phases * (step.nodes - 1);
  const Seconds alpha = start_up(step.link.kind);
  const Seconds node = in_node.times.time(m);
  const Seconds upper = between_nodes(step) * m / step.link.bandwidth;
  const double flat_factor =
      std::max(bus_factor(step.collective, step.ranks).value(), between_nodes(step));
  const Seconds flat = flat_factor * m / step.link.bandwidth;
  const Seconds starts = std::sqrt(fewest * most) * alpha;
  const Seconds value = starts + node + upper;
  const std::array laws{fewest * alpha + std::max(node, upper), most * alpha + node + flat};
  const Seconds latency = starts + in_node.times.latency_share(m) * node;
  return ranged(value, laws, rank_noise + untold_growth + in_node.times.spread(m), latency / value);
}

}  // namespace dlscale::model
