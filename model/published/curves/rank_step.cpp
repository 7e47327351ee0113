#include "model/published/curves/rank_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "core/cluster/nvlink_rings.hpp"
#include "core/results/bandwidths.hpp"

namespace dlscale::model {
namespace {

constexpr int node_gpus = 8;

/// Links of the GPU with the fewest, to others of the first `gpus`: an upper bound on rings.
int least_links(std::span<const NvlinkPair> pairs, int gpus) {
  std::vector<int> links(static_cast<std::size_t>(gpus), 0);
  for (const NvlinkPair& pair : pairs) {
    if (std::max(pair.a, pair.b) >= gpus) continue;
    links[static_cast<std::size_t>(pair.a)] += pair.links;
    links[static_cast<std::size_t>(pair.b)] += pair.links;
  }
  return *std::ranges::min_element(links);
}

std::vector<RankTime> times_of(std::span<const RankCurve> given, Bytes m) {
  std::vector<RankTime> times;
  times.reserve(given.size());
  for (const RankCurve& curve : given) {
    times.push_back({static_cast<double>(curve.ranks), curve.times.time(m)});
  }
  return times;
}

/// Adds the laws of a size that the curve does not cover, applied to `value`.
void add_beyond(std::vector<Seconds>& laws, const SizeCurve& curve, Bytes m, Seconds value) {
  for (const Seconds other : curve.beyond(m)) laws.push_back(other / curve.time(m) * value);
}

Seconds stepped(const RankCurve& given, const RankStep& step, Bytes m, double latency_growth) {
  const double latency = given.times.latency_share(m);
  return split_growth(step, latency, latency_growth) * given.times.time(m);
}

/// The load u / m. Requires rings and a collective whose c is known.
double carried(const cases::CurveCluster& cluster, std::string_view collective, int ranks) {
  return bus_factor(collective, ranks).value() / link_rings(cluster, ranks).value().count;
}

/// Bytes that cross the adapters of a node, for each byte of the message.
double between_nodes(const NodeStep& step) {
  const double each = bus_factor(step.collective, step.nodes).value();
  if (step.collective != "all_to_all") return each;
  return each * step.ranks / step.nodes;
}

}  // namespace

Seconds logarithmic(std::span<const RankTime> given, double ranks) {
  const RankTime& last = given.back();
  double weights = 0;
  double mean_x = 0;
  double mean_y = 0;
  double recency = 1;
  // Times as multiples of the last, so that squares neither overflow nor vanish.
  const auto weight = [&](const RankTime& each) {
    return recency / std::pow(each.time / last.time, 2);
  };
  for (std::size_t i = given.size(); i-- > 0; recency /= 2) {
    const double w = weight(given[i]);
    weights += w;
    mean_x += w * std::log2(given[i].ranks);
    mean_y += w * (given[i].time / last.time);
  }
  mean_x /= weights;
  mean_y /= weights;
  double xx = 0;
  double xy = 0;
  recency = 1;
  for (std::size_t i = given.size(); i-- > 0; recency /= 2) {
    const double w = weight(given[i]);
    const double x = std::log2(given[i].ranks) - mean_x;
    xx += w * x * x;
    xy += w * x * (given[i].time / last.time - mean_y);
  }
  const double slope = std::max(xy / xx, 0.0);
  return (mean_y + slope * (std::log2(ranks) - mean_x)) * last.time;
}

Seconds linear(std::span<const RankTime> given, double ranks) {
  const RankTime& last = given.back();
  const RankTime& before = given[given.size() - 2];
  const Seconds rise = std::max(last.time - before.time, Seconds());
  return last.time + (ranks - last.ranks) / (last.ranks - before.ranks) * rise;
}

Seconds power(std::span<const RankTime> given, double ranks) {
  const RankTime& first = given.front();
  const RankTime& last = given.back();
  const double exponent = std::log(last.time / first.time) / std::log(last.ranks / first.ranks);
  return std::pow(ranks / last.ranks, std::max(exponent, 0.0)) * last.time;
}

Seconds between_laws(std::span<const RankTime> given, double ranks) {
  const Seconds by_logarithm = logarithmic(given, ranks);
  return std::sqrt(power(given, ranks) / by_logarithm) * by_logarithm;
}

double split_growth(const RankStep& step, double latency, double latency_growth) {
  const auto to = bus_factor(step.collective, step.to);
  const auto from = bus_factor(step.collective, step.from);
  const double transfer_growth = to && from ? *to / *from : 1.0;
  return latency * latency_growth + (1 - latency) * transfer_growth;
}

double tree_growth(const RankStep& step) {
  return std::log2(step.to) / std::log2(step.from);
}

double ring_growth(const RankStep& step) {
  return (step.to - 1.0) / (step.from - 1.0);
}

std::optional<LinkRings> link_rings(const cases::CurveCluster& cluster, int gpus) {
  if (!cluster.intra_node || cluster.gpus_per_node != node_gpus) return {};
  if (gpus < 2 || gpus > node_gpus) return {};
  const bool v100 = cluster.intra_node->kind == "nvlink2";
  if (!v100 && cluster.intra_node->kind != "nvlink1") return {};
  const Nvlinks mesh = nvlink_board(v100 ? "dgx1_v100" : "dgx1_p100", node_gpus, "link_rings");
  const int rings = nvlink_rings(mesh.pairs, gpus);
  if (rings == 0) return LinkRings{least_links(mesh.pairs, gpus), false};
  return LinkRings{rings, true};
}

CurveTime same_ranks(const SizeCurve& given, Bytes m) {
  return ranged(given.time(m), given.beyond(m), given.spread(m), given.latency_share(m));
}

CurveTime one_step(const RankCurve& given, const AskedRanks& asked, Bytes m) {
  const RankStep step{asked.collective, given.ranks, asked.ranks};
  const Seconds value = stepped(given, step, m, tree_growth(step));
  std::vector<Seconds> laws{given.times.time(m), stepped(given, step, m, ring_growth(step))};
  add_beyond(laws, given.times, m, value);
  return ranged(value, laws, rank_noise + untold_growth + given.times.spread(m),
                given.times.latency_share(m));
}

double rank_doubt(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m) {
  const RankCurve& last = given.back();
  const std::span<const RankCurve> others = given.first(given.size() - 1);
  const RankStep step{asked.collective, others.back().ranks, last.ranks};
  const Seconds foretold = others.size() == 1 ? stepped(others.front(), step, m, tree_growth(step))
                                              : between_laws(times_of(others, m), last.ranks);
  return std::abs(std::log(foretold / last.times.time(m)));
}

CurveTime more_ranks(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m) {
  const std::vector<RankTime> times = times_of(given, m);
  const SizeCurve& last = given.back().times;
  const Seconds value = between_laws(times, asked.ranks);
  std::vector<Seconds> laws{times.back().time, logarithmic(times, asked.ranks),
                            linear(times, asked.ranks), power(times, asked.ranks)};
  add_beyond(laws, last, m, value);
  return ranged(value, laws, rank_noise + rank_doubt(given, asked, m) + last.spread(m),
                last.latency_share(m));
}

CurveTime between_ranks(const RankCurve& below, const RankCurve& above, int ranks, Bytes m) {
  const double part = std::log2(static_cast<double>(ranks) / below.ranks) /
                      std::log2(static_cast<double>(above.ranks) / below.ranks);
  const Seconds value = (1 - part) * below.times.time(m) + part * above.times.time(m);
  std::vector<Seconds> laws{below.times.time(m), above.times.time(m)};
  add_beyond(laws, above.times, m, value);
  const double spread = std::max(below.times.spread(m), above.times.spread(m));
  return ranged(value, laws, rank_noise + spread, above.times.latency_share(m));
}

CurveTime ringed(std::span<const RankCurve> given, const cases::CurveCluster& cluster,
                 const LinkRings& rings, const AskedRanks& asked, Bytes m) {
  const RankCurve& last = given.back();
  const auto of = [&](int ranks) { return carried(cluster, asked.collective, ranks); };
  const double per_link = bus_factor(asked.collective, asked.ranks).value() / rings.count;
  const Bytes equal = per_link / of(last.ranks) * m;
  const Seconds value = last.times.time(equal);
  double doubt = untold_growth;
  if (given.size() > 1) {
    const RankCurve& before = given[given.size() - 2];
    const Bytes there = of(last.ranks) / of(before.ranks) * m;
    doubt = std::abs(std::log(before.times.time(there) / last.times.time(m)));
  }
  std::vector<Seconds> laws{tree_growth({asked.collective, last.ranks, asked.ranks}) * value};
  add_beyond(laws, last.times, equal, value);
  return ranged(value, laws, rank_noise + doubt + last.times.spread(equal),
                last.times.latency_share(equal));
}

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
