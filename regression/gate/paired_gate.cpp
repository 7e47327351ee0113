#include "regression/gate/paired_gate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/statistics/benjamini_hochberg.hpp"
#include "regression/statistics/hodges_lehmann.hpp"
#include "regression/statistics/log_rounding.hpp"
#include "regression/statistics/sign_test.hpp"
#include "regression/statistics/signed_rank.hpp"

namespace dlscale::regression {
namespace {

/// From this number of rounds on, the sign test is as powerful as the signed rank.
constexpr std::size_t sign_test_from = 20;

/// The level of U'.
double far_level(std::size_t rounds, double alpha) {
  constexpr double share = 20;
  return std::max(alpha / share, std::ldexp(1.0, -static_cast<int>(rounds)));
}

GateEstimate by_signed_rank(std::span<const double> differences, double limit, double alpha) {
  const std::vector<double> averages = walsh_averages(differences);
  const SignedRankDistribution distribution(differences.size());
  const Bounds bounds = signed_rank_bounds(averages, distribution, alpha);
  const double far = far_level(differences.size(), alpha);
  return {.method = GateMethod::signed_rank,
          .theta = hodges_lehmann(averages),
          .low = bounds.low,
          .high = bounds.high,
          .far_high = signed_rank_bounds(averages, distribution, far).high,
          .p_worse = signed_rank_p_above(averages, distribution, limit),
          .p_same = signed_rank_p_below(averages, distribution, limit),
          .p_better = signed_rank_p_below(averages, distribution, -limit)};
}

GateEstimate by_sign_test(std::span<const double> differences, double limit, double alpha) {
  std::vector<double> sorted(differences.begin(), differences.end());
  std::ranges::sort(sorted);
  const Bounds bounds = sign_test_bounds(sorted, alpha);
  return {.method = GateMethod::sign_test,
          .theta = median(sorted),
          .low = bounds.low,
          .high = bounds.high,
          .far_high = sign_test_bounds(sorted, far_level(sorted.size(), alpha)).high,
          .p_worse = sign_test_p_above(sorted, limit),
          .p_same = sign_test_p_below(sorted, limit),
          .p_better = sign_test_p_below(sorted, -limit)};
}

GateEstimate estimate_of(std::span<const double> differences, double margin, double alpha) {
  const double limit = std::log1p(margin);
  const bool ranks = method_for(differences.size(), margin) == GateMethod::signed_rank;
  return ranks ? by_signed_rank(differences, limit, alpha)
               : by_sign_test(differences, limit, alpha);
}

/// State of one metric between looks.
struct Progress {
  double p_worse = 1;  ///< sequential p-value
  double p_better = 1;
};

double alpha_of(const std::vector<GateLook>& looks) {
  double sum = 0;
  for (const GateLook& look : looks) sum += look.alpha;
  return sum;
}

std::vector<double> adjusted(const std::vector<Progress>& progress, double Progress::*side) {
  std::vector<double> p;
  p.reserve(progress.size());
  for (const Progress& one : progress) p.push_back(one.*side);
  return benjamini_hochberg(p);
}

void decide(GateDecision& decision, Verdict verdict) {
  decision.verdict = verdict;
  decision.decided = true;
}

/// Takes one look at the metrics that are undecided and have enough rounds.
class InterimLook {
 public:
  InterimLook(const GateRule& rule, const GateLook& look, double alpha,
              std::span<const double> margins, std::span<const RoundedDifferences> rounded)
      : rule_(&rule), look_(&look), alpha_(alpha), margins_(margins), rounded_(rounded) {}

  void take(std::span<const std::vector<double>> differences, std::vector<GateDecision>& decisions,
            std::vector<Progress>& progress) const {
    std::vector<bool> looked(decisions.size(), false);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const auto rounds = static_cast<std::size_t>(look_->rounds);
      if (decisions[i].decided || differences[i].size() < rounds) continue;
      looked[i] = true;
      estimate(std::span(differences[i]).first(rounds), rounded_[i], decisions[i], progress[i]);
    }
    const std::vector<double> worse = adjusted(progress, &Progress::p_worse);
    const std::vector<double> better = adjusted(progress, &Progress::p_better);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      if (!looked[i]) continue;
      judge(decisions[i], margins_[i], worse[i] <= rule_->q, better[i] <= rule_->q);
    }
  }

 private:
  void estimate(std::span<const double> differences, const RoundedDifferences& rounded,
                GateDecision& decision, Progress& progress) const {
    decision.rounds = look_->rounds;
    decision.estimate = estimate_gate(differences, rule_->margin, look_->alpha, rounded);
    const double weight = alpha_ / look_->alpha;
    progress.p_worse = std::min(progress.p_worse, decision.estimate.p_worse * weight);
    progress.p_better = std::min(progress.p_better, decision.estimate.p_better * weight);
    decision.p_sequential = progress.p_worse;
  }

  void judge(GateDecision& decision, double margin, bool worse_kept, bool better_kept) const {
    const GateEstimate& estimate = decision.estimate;
    const double limit = std::log1p(rule_->margin);
    const bool above = estimate.low && *estimate.low > limit;
    if (above && worse_kept) return decide(decision, Verdict::regressed);
    if (better_kept && estimate.high && *estimate.high < -limit) {
      return decide(decision, Verdict::improved);
    }
    decision.hold = above ? GateHold::by_family : GateHold::none;
    const double wide = std::log1p(margin);
    if (!estimate.high || !(*estimate.high < wide)) return;
    const std::optional<double> least = least_log_margin(estimate);
    // A margin beyond δ clears no version that is slower by all appearances.
    const bool slower = estimate.low && *estimate.low > 0;
    if (!least || !(*least < wide)) {
      decision.hold = GateHold::by_far_bound;
    } else if (slower && *least >= limit) {
      decision.hold = GateHold::by_slowness;
    } else {
      decide(decision, Verdict::not_regressed);
    }
  }

  const GateRule* rule_;
  const GateLook* look_;
  double alpha_;
  std::span<const double> margins_;  ///< of each metric
  std::span<const RoundedDifferences> rounded_;
};

void check(const GateRule& rule) {
  EXPECT(rule.margin >= 0 && !rule.looks.empty() && rule.q > 0 && rule.q < 1);
  int before = 0;
  for (const GateLook& look : rule.looks) {
    EXPECT(look.rounds > before && look.alpha > 0 && look.alpha < 1);
    before = look.rounds;
  }
}

/// The estimate before the first look.
void estimate_early(const std::vector<double>& differences, const RoundedDifferences& rounded,
                    const GateRule& rule, GateDecision& decision) {
  if (decision.rounds > 0 || differences.empty()) return;
  decision.rounds = static_cast<int>(differences.size());
  decision.estimate = estimate_gate(differences, rule.margin, rule.looks.front().alpha, rounded);
}

}  // namespace

std::vector<GateLook> looks_up_to(int most) {
  EXPECT(most >= 2 && most <= 1000);
  std::vector<int> rounds;
  for (int look = 10; look < most; look *= 2) rounds.push_back(look);
  rounds.push_back(most);
  constexpr double alpha = 0.05;
  std::vector<double> shares(rounds.size(), alpha / static_cast<double>(rounds.size()));
  if (rounds.size() == 2) shares = {0.03, 0.02};
  if (rounds.size() == 3) shares = {0.02, 0.02, 0.01};
  std::vector<GateLook> looks;
  for (std::size_t i = 0; i < rounds.size(); ++i) looks.push_back({rounds[i], shares[i]});
  return looks;
}

bool can_decide(const std::vector<GateLook>& looks) {
  return std::ranges::any_of(
      looks, [](const GateLook& look) { return std::ldexp(1.0, -look.rounds) <= look.alpha; });
}

int least_rounds() {
  int rounds = 2;
  while (!can_decide(looks_up_to(rounds))) ++rounds;
  return rounds;
}

GateMethod method_for(std::size_t rounds, double margin) {
  return rounds < sign_test_from && margin > 0 ? GateMethod::signed_rank : GateMethod::sign_test;
}

GateEstimate estimate_gate(std::span<const double> differences, double margin, double alpha,
                           const RoundedDifferences& rounded) {
  EXPECT(!differences.empty());
  GateEstimate estimate = estimate_of(differences, margin, alpha);
  if (rounded.low.empty()) return estimate;
  const auto of_first = [&](const std::vector<double>& all) {
    return estimate_of(std::span(all).first(differences.size()), margin, alpha);
  };
  const GateEstimate lowest = of_first(rounded.low);
  const GateEstimate highest = of_first(rounded.high);
  estimate.low = lowest.low;
  estimate.p_worse = lowest.p_worse;
  estimate.high = highest.high;
  estimate.far_high = highest.far_high;
  estimate.p_same = highest.p_same;
  estimate.p_better = highest.p_better;
  return estimate;
}

std::optional<double> least_log_margin(const GateEstimate& estimate) {
  if (!estimate.high || !estimate.far_high) return std::nullopt;
  // ln(1 + m) from U' = ln(1 + 2 m); a bound below 0 needs no margin.
  return std::max(*estimate.high, std::log1p(std::expm1(*estimate.far_high) / 2));
}

std::vector<GateDecision> judge_gate(std::span<const std::vector<double>> differences,
                                     const GateRule& rule, std::span<const double> margins,
                                     std::span<const RoundedDifferences> rounded) {
  check(rule);
  const std::vector<double> same(differences.size(), rule.margin);
  if (margins.empty()) margins = same;
  const std::vector<RoundedDifferences> exact(differences.size());
  if (rounded.empty()) rounded = exact;
  EXPECT(margins.size() == differences.size() && rounded.size() == differences.size());
  std::vector<GateDecision> decisions(differences.size());
  std::vector<Progress> progress(differences.size());
  const double alpha = alpha_of(rule.looks);
  for (const GateLook& look : rule.looks) {
    InterimLook(rule, look, alpha, margins, rounded).take(differences, decisions, progress);
  }
  const std::vector<double> worse = adjusted(progress, &Progress::p_worse);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    decisions[i].p_adjusted = worse[i];
    estimate_early(differences[i], rounded[i], rule, decisions[i]);
  }
  return decisions;
}

std::vector<double> differences_of(std::span<const GatePair> pairs, Direction direction) {
  std::vector<double> differences;
  differences.reserve(pairs.size());
  for (const GatePair& pair : pairs) {
    EXPECT(pair.base > 0 && pair.changed > 0);
    differences.push_back(worse_sign(direction) * std::log(pair.changed / pair.base));
  }
  return differences;
}

RoundedDifferences rounded_differences(std::span<const GatePair> pairs, Direction direction,
                                       double rounding) {
  if (!(rounding > 0)) return {};
  RoundedDifferences rounded{differences_of(pairs, direction), differences_of(pairs, direction)};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    LogRounding by = log_rounding_of_ratio({pairs[i].base, rounding}, {pairs[i].changed, rounding});
    if (worse_sign(direction) < 0) std::swap(by.up, by.down);
    rounded.low[i] -= by.down;
    rounded.high[i] += by.up;
  }
  return rounded;
}

double rounding_above(std::span<const double> differences, const RoundedDifferences& rounded) {
  double most = 0;
  if (rounded.high.empty()) return most;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    most = std::max(most, rounded.high[i] - differences[i]);
  }
  return most;
}

}  // namespace dlscale::regression
