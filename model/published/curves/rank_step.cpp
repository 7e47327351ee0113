#include "model/published/curves/rank_step.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/results/bandwidths.hpp"
#include "model/published/curves/rank_laws.hpp"

namespace dlscale::model {
namespace {

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

}  // namespace

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
                                              : logarithmic(times_of(others, m), last.ranks);
  return std::abs(std::log(foretold / last.times.time(m)));
}

CurveTime more_ranks(std::span<const RankCurve> given, const AskedRanks& asked, Bytes m) {
  const std::vector<RankTime> times = times_of(given, m);
  const SizeCurve& last = given.back().times;
  const Seconds value = logarithmic(times, asked.ranks);
  std::vector<Seconds> laws{times.back().time, linear(times, asked.ranks),
                            power(times, asked.ranks)};
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

}  // namespace dlscale::model
