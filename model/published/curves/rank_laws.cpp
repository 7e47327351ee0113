#include "model/published/curves/rank_laws.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/results/bandwidths.hpp"

namespace dlscale::model {

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
  return std::pow(ranks / last.ranks, exponent) * last.time;
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

}  // namespace dlscale::model
