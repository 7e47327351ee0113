#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "regression/gate/gate_report.hpp"

namespace dlscale::regression {

/// The gate of two versions by interleaved pairs against a margin.
///
///   d_r = s · ln(b_r / a_r)      a_r, b_r: statistics of one fresh process each in round r, run in
///                                random order; s = worse_sign(direction), so that more is worse
///   θ, L, U                      estimate and one-sided bounds of the centre of d
///   regressed                    L > ln(1 + δ), and Benjamini-Hochberg over all metrics keeps it
///   improved                     U < −ln(1 + δ), and Benjamini-Hochberg over all metrics keeps it
///   not regressed                U < ln(1 + δ), and U' < ln(1 + 2 δ)
///   inconclusive                 else: more rounds
///
/// U' is the same bound at α / 20, or at 2^−n where that is more, which n rounds can just reach. So
/// no lucky draw on a noisy machine clears a change of twice the margin: at α alone one gate in 200
/// does. Where the noise is small, U' adds nothing.
///
/// Looks at the data after 10, 20 and 40 rounds with α = .02, .02 and .01. A metric is decided at
/// the first look that can decide it. By Bonferroni over the looks, each error stays at or under 5
/// %. Benjamini-Hochberg receives the minimum over the looks so far of p · α / α_look, with α = Σ
/// α_look. For the same reason this is a p-value at whichever look a metric stopped.
///
/// Uses the signed rank below 20 rounds with a margin, and the sign test from 20 rounds on or
/// without a margin. The signed rank needs symmetry: on skewed differences its level against 0 is
/// not kept. The sign test costs power only when rounds are few.
///
/// Where it is wrong: neighbouring rounds that resemble each other (another job that comes and
/// goes) are not quite independent. The margin absorbs that, and `dlscale noise` measures it. The
/// false discovery rate covers the metrics called regressed; "not regressed" is a statement about
/// each metric alone.
struct GateRule {
  double margin = 0.01;  ///< δ ≥ 0
  /// of_noise: "not regressed" is U < ln(1 + m) with the margin m ≥ δ that auto_margin() finds for
  /// each metric, and L ≤ 0 where δ does not clear it as well. The other verdicts keep δ.
  enum class Margin { given, of_noise } margin_from = Margin::given;
  std::vector<GateLook> looks = {{10, 0.02}, {20, 0.02}, {40, 0.01}};  ///< rounds ascending
  double q = 0.05;
};

/// The looks that end with `most` rounds: 10, 20, 40, then doubling, then `most`. The total α of
/// 0.05 is divided as {.05}, {.03, .02}, {.02, .02, .01}, or equally among more looks. Requires 2 ≤
/// most ≤ 1000.
std::vector<GateLook> looks_up_to(int most);

/// Whether a single metric can be decided at any of the looks. With either method the least p of n
/// rounds is 2^-n, when all agree; it has to reach the look's α.
bool can_decide(const std::vector<GateLook>& looks);
/// Fewest rounds with which looks_up_to() can decide a metric.
int least_rounds();

/// The method by which the rule judges so many rounds.
GateMethod method_for(std::size_t rounds, double margin);

/// The differences of a metric as they may have been before rounding, likewise in the
/// order of rounds. Both are empty where all digits are known.
struct RoundedDifferences {
  std::vector<double> low;
  std::vector<double> high;
};

/// θ and its bounds at one look.
struct GateEstimate {
  GateMethod method = GateMethod::signed_rank;
  double theta = 0;  ///< Hodges-Lehmann for the signed rank, the median for the sign test
  std::optional<double> low;
  std::optional<double> high;
  std::optional<double> far_high;  ///< U'
  double p_worse = 1;              ///< p-value of θ ≤ ln(1 + δ)
  double p_same = 1;               ///< p-value of θ ≥ ln(1 + δ)
  double p_better = 1;             ///< p-value of θ ≥ −ln(1 + δ)
};

/// Requires 1 to 1000 differences, all finite. With `rounded`, L and its p-value are those of the
/// lowest differences and U and its p-values those of the highest.
GateEstimate estimate_gate(std::span<const double> differences, double margin, double alpha,
                           const RoundedDifferences& rounded = {});

/// The least m at which the estimate is "not regressed", as ln(1 + m); absent without bounds.
std::optional<double> least_log_margin(const GateEstimate& estimate);

/// The reason why a metric is undecided although its interval is on one side of the margin.
enum class GateHold {
  none,
  by_family,     ///< above the margin, but that may be chance among so many metrics
  by_far_bound,  ///< below the margin, but U' allows twice the margin
  by_slowness,   ///< below m > δ, but slower beyond chance
};

/// Decision about one metric.
struct GateDecision {
  Verdict verdict = Verdict::inconclusive;
  bool decided = false;  ///< false: more rounds may decide, if looks are left
  GateHold hold = GateHold::none;  ///< at the last look
  /// Rounds of the estimate: those of the last look up to the decision, or all rounds before the
  /// first look.
  int rounds = 0;
  GateEstimate estimate;
  double p_sequential = 1;  ///< p-value of "not worse", valid over all looks
  double p_adjusted = 1;    ///< Benjamini-Hochberg over the metrics
};

/// Replays all looks that the rounds so far allow, as if each had been taken in time. The answer
/// does not depend on the number of calls. `differences[metric]` holds d_r in the order of rounds,
/// finite; metrics may have different numbers of rounds. `margins` has m of each metric; empty:
/// all are δ. `rounded` likewise; empty: no value is rounded.
std::vector<GateDecision> judge_gate(std::span<const std::vector<double>> differences,
                                     const GateRule& rule, std::span<const double> margins = {},
                                     std::span<const RoundedDifferences> rounded = {});

/// Differences d_r of the pairs, in the order of rounds. Requires positive values.
std::vector<double> differences_of(std::span<const GatePair> pairs, Direction direction);
/// The same before rounding; `rounding` is half a unit of the last digit of all values.
RoundedDifferences rounded_differences(std::span<const GatePair> pairs, Direction direction,
                                       double rounding);
/// The most by which a difference may have been larger before rounding.
double rounding_above(std::span<const double> differences, const RoundedDifferences& rounded);

}  // namespace dlscale::regression
