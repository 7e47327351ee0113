#include "regression/statistics/new_point.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/statistics/student_t.hpp"

namespace dlscale::regression {
namespace {

/// Logarithms of the usable values.
std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> result;
  for (const double value : values) {
    if (std::isfinite(value) && value > 0) result.push_back(std::log(value));
  }
  return result;
}

/// Standard deviation of the history, robust against outliers and corrected for few points.
double deviation(const Summary& history) {
  constexpr double mad_of_normal = 1.4826;
  return mad_of_normal * history.mad * (1 + 0.8 / static_cast<double>(history.n));
}

/// Largest distance of a new point from the centre.
double reach(const Summary& history, const NewPointRule& rule) {
  const auto n = static_cast<double>(history.n);
  const double spread = deviation(history) * std::sqrt(1 + 1 / n);
  return std::max(std::log1p(rule.margin), student_t_quantile(rule.quantile, n - 1) * spread);
}

/// Whether this many runs beyond the bound raise an alarm.
bool alarms(std::size_t beyond, std::size_t runs, const NewPointRule& rule) {
  return beyond >= rule.needed && beyond * rule.runs >= rule.needed * runs;
}

void judge(std::span<const double> runs, double centre, double bound, double sign,
           const NewPointRule& rule, NewPoint& result) {
  std::size_t worse = 0;
  std::size_t better = 0;
  for (const double run : runs) {
    const double change = sign * (run - centre);
    worse += change > bound ? 1 : 0;
    better += change < -bound ? 1 : 0;
  }
  result.beyond = std::max(worse, better);
  const bool hit = result.beyond > 0;
  if (alarms(worse, runs.size(), rule)) {
    result.verdict = Verdict::regressed;
    result.beyond = worse;
  } else if (alarms(better, runs.size(), rule)) {
    result.verdict = Verdict::improved;
    result.beyond = better;
  } else if (hit && runs.size() < rule.runs) {
    result.verdict = Verdict::inconclusive;
    result.runs_wanted = rule.runs - runs.size();
  } else {
    result.verdict = Verdict::unchanged;
  }
}

void check_point_rule(const NewPointRule& rule) {
  EXPECT(rule.margin >= 0 && rule.quantile > 0.5 && rule.quantile < 1);
  EXPECT(rule.least >= 2 && rule.most >= rule.least);
  EXPECT(rule.needed >= 1 && rule.needed <= rule.runs);
}

}  // namespace

NewPoint judge_new_point(std::span<const double> history, std::span<const double> runs,
                         Direction direction, const NewPointRule& rule) {
  check_point_rule(rule);
  EXPECT(!runs.empty());
  std::vector<double> before = logarithms(history);
  const std::vector<double> now = logarithms(runs);
  NewPoint result;
  result.unusable = history.size() - before.size() + runs.size() - now.size();
  if (before.size() > rule.most) {
    before.erase(before.begin(), before.end() - static_cast<std::ptrdiff_t>(rule.most));
  }
  result.history = before.size();
  result.runs = now.size();
  if (!before.empty()) result.level = std::exp(median(before));
  if (before.size() < rule.least) return result;
  const Summary summary = summarize(before);
  const double bound = reach(summary, rule);
  result.lowest = std::exp(summary.median - bound);
  result.highest = std::exp(summary.median + bound);
  constexpr double eight_of_ten = 0.8416212335729143;  // quantile of the normal distribution
  result.seen = bound + eight_of_ten * deviation(summary);
  if (now.empty()) {
    result.verdict = Verdict::inconclusive;
    result.runs_wanted = rule.runs;
    return result;
  }
  result.ratio = std::exp(median(now) - summary.median);
  judge(now, summary.median, bound, worse_sign(direction), rule, result);
  return result;
}

}  // namespace dlscale::regression
