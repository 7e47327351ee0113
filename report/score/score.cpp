#include "report/score/score.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::report {
namespace {

/// A measured number and its weight.
struct Weighted {
  JudgedItem item;
  double weight = 1;
};

/// Values with their weights.
using Pairs = std::vector<std::pair<double, double>>;

double total_weight(const Pairs& pairs) {
  double total = 0;
  for (const auto& [value, weight] : pairs) total += weight;
  return total;
}

double weighted_mean(const Pairs& pairs) {
  double sum = 0;
  for (const auto& [value, weight] : pairs) sum += value * weight;
  return sum / total_weight(pairs);
}

double weighted_quantile(Pairs pairs, double q) {
  constexpr double rounding = 1e-12;
  std::ranges::sort(pairs);
  const double wanted = q * total_weight(pairs) - rounding;
  double reached = 0;
  for (const auto& [value, weight] : pairs) {
    reached += weight;
    if (reached >= wanted) return value;
  }
  return pairs.back().first;
}

bool all_weigh_the_same(const Pairs& pairs) {
  return std::ranges::all_of(pairs,
                             [&](const auto& pair) { return pair.second == pairs[0].second; });
}

double weighted_median(Pairs pairs) {
  if (!all_weigh_the_same(pairs)) return weighted_quantile(std::move(pairs), 0.5);
  std::ranges::sort(pairs);
  const std::size_t middle = pairs.size() / 2;
  if (pairs.size() % 2 == 1) return pairs[middle].first;
  return 0.5 * (pairs[middle - 1].first + pairs[middle].first);
}

/// Ranks from 1; equal values share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double rank = 0.5 * static_cast<double>(first + last) + 1;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = rank;
    first = last + 1;
  }
  return ranks;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Spearman's rank correlation.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return {};
  const std::vector<double> rank_a = ranks_of(a);
  const std::vector<double> rank_b = ranks_of(b);
  const double mean_a = mean_of(rank_a);
  const double mean_b = mean_of(rank_b);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (rank_a[i] - mean_a) * (rank_b[i] - mean_b);
    aa += (rank_a[i] - mean_a) * (rank_a[i] - mean_a);
    bb += (rank_b[i] - mean_b) * (rank_b[i] - mean_b);
  }
  if (aa <= 0 || bb <= 0) return {};
  return ab / std::sqrt(aa * bb);
}

std::optional<double> correlation_of(const std::vector<Weighted>& all) {
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const Weighted& one : all) {
    if (!one.item.predicted) continue;
    measured.push_back(one.item.measured);
    predicted.push_back(*one.item.predicted);
  }
  return rank_correlation(measured, predicted);
}

Score score_of(const std::vector<Weighted>& all) {
  Pairs errors;
  Pairs sizes;
  Pairs covered;
  Pairs widths;
  Score score;
  score.items = all.size();
  for (const auto& [item, weight] : all) {
    errors.emplace_back(item.error(), weight);
    sizes.emplace_back(std::abs(item.error()), weight);
    covered.emplace_back(item.is_covered() ? 1.0 : 0.0, weight);
    if (item.has_interval())
      widths.emplace_back((*item.high - *item.low) / *item.predicted, weight);
    if (!item.predicted) ++score.missing;
  }
  score.mean = weighted_mean(sizes);
  score.median = weighted_median(sizes);
  score.bias = weighted_mean(errors);
  score.p90 = weighted_quantile(sizes, 0.9);
  score.max = std::ranges::max(sizes).first;
  score.coverage = weighted_mean(covered);
  if (!widths.empty()) score.width = weighted_median(widths);
  score.rank_correlation = correlation_of(all);
  return score;
}

std::map<std::string, std::vector<Weighted>> by_group(std::span<const JudgedCase> cases) {
  std::map<std::string, std::vector<Weighted>> groups;
  for (const JudgedCase& judged : cases) {
    for (const JudgedItem& item : judged.items) groups[judged.group].push_back({item, 1});
  }
  return groups;
}

}  // namespace

GroupedScore score(std::span<const JudgedCase> cases) {
  EXPECT(!cases.empty());
  GroupedScore scores;
  std::vector<Weighted> all;
  std::vector<double> correlations;
  for (const auto& [group, members] : by_group(cases)) {
    const Score of_group = score_of(members);
    if (of_group.rank_correlation) correlations.push_back(*of_group.rank_correlation);
    scores.groups.emplace(group, of_group);
    const double weight = 1.0 / static_cast<double>(members.size());
    for (const Weighted& member : members) all.push_back({member.item, weight});
  }
  scores.overall = score_of(all);
  scores.overall.rank_correlation.reset();
  if (!correlations.empty()) scores.overall.rank_correlation = mean_of(correlations);
  return scores;
}

}  // namespace dlscale::report
