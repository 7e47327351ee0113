#pragma once
#include <optional>
#include <span>
#include <vector>

#include "regression/gate/gate_report.hpp"

namespace dlscale::report {

/// The gate of two versions by interleaved pairs against a margin.
///
///   d_r = s · ln(b_r / a_r)      a_r, b_r: statistics of one fresh process each in round r, run in
///                                random order; s = worse_sign(direction), so that more is worse
///   θ, L, U                      estimate and one-sided bounds of the centre of d
///   regressed                    L > ln(1 + δ), and Benjamini-Hochberg over all metrics keeps it
///   improved                     U < −ln(1 + δ), and Benjamini-Hochberg over all metrics keeps it
///   not regressed                U < ln(1 + δ)
///   inconclusive                 else: more rounds
///
/// Looks at the data after 10, 20 and 40 rounds with α = .02, .02 and .01; a metric is decided at
/// the first look that can. By Bonferroni over the looks each error stays at or under 5 %. What
/// Benjamini-Hochberg is given is min over the looks so far of p · α / α_look with α = Σ α_look,
/// which for the same reason is a p-value at whichever look a metric stopped.
///
/// Signed rank below 20 rounds with a margin, the sign test from 20 on or without one: the signed
/// rank needs symmetry, and where differences are skewed its level against 0 is not kept, while the
/// sign test costs power only when rounds are few.
///
/// Where it is wrong: rounds that resemble their neighbours (a neighbour's job that comes and goes)
/// are not quite independent; the margin absorbs that, and `dlscale noise` measures it. The false
/// discovery rate is kept among what is called regressed; "not regressed" is a statement about each
/// metric alone.
struct GateRule {
  double margin = 0.01;                                                ///< δ ≥ 0
  std::vector<GateLook> looks = {{10, 0.02}, {20, 0.02}, {40, 0.01}};  ///< rounds rising
  double q = 0.05;
  /// by_rounds is the rule; the others are for studies of it.
  enum class Method { by_rounds, signed_rank, sign_test } method = Method::by_rounds;
};

/// The looks that end with `most` rounds: 10, 20, 40 as far as they go, then twice as many each,
/// then `most`; α in all 0.05, divided as {.05}, {.03, .02}, {.02, .02, .01}, or equally among
/// more. 2 ≤ most ≤ 1000.
std::vector<GateLook> looks_up_to(int most);

/// Whether a lone metric can be decided at any of the looks: by either method the least p of n
/// rounds is 2^-n, when all of them agree, and it has to reach the look's α.
bool can_decide(const std::vector<GateLook>& looks);
/// The fewest rounds with which looks_up_to() can.
int least_rounds();

/// θ and its bounds at one look.
struct GateEstimate {
  GateMethod method = GateMethod::signed_rank;
  double theta = 0;  ///< Hodges-Lehmann for the signed rank, the median for the sign test
  std::optional<double> low;
  std::optional<double> high;
  double p_worse = 1;   ///< of θ ≤ ln(1 + δ)
  double p_same = 1;    ///< of θ ≥ ln(1 + δ)
  double p_better = 1;  ///< of θ ≥ −ln(1 + δ)
};

/// Requires ≥ 1 finite difference, ≤ 1000.
GateEstimate estimate_gate(std::span<const double> differences, double margin, double alpha,
                           GateRule::Method method);

/// What became of one metric.
struct GateDecision {
  Verdict verdict = Verdict::inconclusive;
  bool decided = false;  ///< else more rounds may tell, as far as there are looks left
  /// Its bound is above the margin, but among so many metrics that may be chance.
  bool held_back = false;
  int rounds = 0;  ///< that the estimate is of: those of the last look that was reached before or
                   ///< at the decision; all of them before the first look
  GateEstimate estimate;
  double p_sequential = 1;  ///< of "no worse"
  double p_adjusted = 1;    ///< Benjamini-Hochberg over the metrics
};

/// Goes through all the looks that the rounds so far allow, as if they had been taken when those
/// rounds were done: the answer does not depend on how often it is asked. `differences[metric]`
/// are d_r in the order of rounds, finite; metrics may have different numbers.
std::vector<GateDecision> judge_gate(std::span<const std::vector<double>> differences,
                                     const GateRule& rule);

/// d_r of pairs, in the order of rounds. Requires positive values.
std::vector<double> differences_of(std::span<const GatePair> pairs, Direction direction);

}  // namespace dlscale::report
