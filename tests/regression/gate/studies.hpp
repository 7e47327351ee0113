#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "noise_models.hpp"
#include "recorded_noise.hpp"
#include "regression/gate/paired_gate.hpp"
#include "regression/levels/change_points.hpp"

namespace dlscale::regression {

/// Shares of draws that ended so.
struct GateRates {
  double regressed = 0;
  double not_regressed = 0;
  double mean_rounds = 0;
};

/// Draws windows of successive rounds of the recording at random and judges arm `changed`
/// ("gemm:B5") against the arm A of its kernel by the rule.
GateRates gate_rates(const RecordedNoise& noise, const std::string& changed, const GateRule& rule,
                     std::size_t draws);

/// Kinds of noise of a gate's rounds.
enum class RoundNoise {
  normal_3,    ///< both versions: normal, 3 %
  normal_1,    ///< the same, 1 %
  two_levels,  ///< 1 %, and every other run slower by 5 %
  rare_level,  ///< 1 %, and a fifth of the runs slower by 5 %
  drifting,    ///< 3 %, runs like their neighbours in time: autocorrelation .8
};
inline constexpr RoundNoise round_noises[] = {RoundNoise::normal_3, RoundNoise::normal_1,
                                              RoundNoise::two_levels, RoundNoise::rare_level,
                                              RoundNoise::drifting};

/// The differences d of rounds of identical versions.
std::vector<double> draw_rounds(RoundNoise noise, std::size_t rounds, Draws& draws);
/// The same from a random round of a recording on: arm A2 against A of a kernel ("gemm").
std::vector<double> draw_rounds(const RecordedNoise& noise, const std::string& kernel,
                                std::size_t rounds, Draws& draws);

/// Verdicts of many gates, and those that are wrong.
struct MarginRates {
  int gates = 0;
  int regressed = 0;
  int not_regressed = 0;        ///< or improved
  int false_regressed = 0;      ///< though the change is 1 % at most
  int false_not_regressed = 0;  ///< though the change is more than the margin
  double margin = 0;            ///< mean of what "not regressed" excludes
  double rounds = 0;            ///< mean
  [[nodiscard]] int inconclusive() const { return gates - regressed - not_regressed; }
};

/// Judges identical rounds with a planted change, by a margin of 1 % or by that of their noise.
void add_gate(std::vector<double> differences, double change, GateRule::Margin margin_from,
              MarginRates& rates);

/// The verdict on rounds with a planted change of exactly the margin of their noise, where "not
/// regressed" is wrong and allowed in 5 % of the cases.
Verdict verdict_at_margin(std::vector<double> differences);

/// One look after so many rounds, at 5 %.
GateRule one_look(int rounds, double margin);

/// Of histories with a step (0: none) at a point drawn from the middle.
struct ChangeRates {
  double any = 0;      ///< share of series with a change point
  double found = 0;    ///< share with one within 5 points of the step
  double excused = 0;  ///< share of series whose step was found and taken for a jump between modes
};
ChangeRates change_rates(Noise noise, double step, const ChangePointRule& rule, std::size_t series,
                         std::uint64_t seed = 20261120);

/// Windows of ±50 points around each label of Talos; hit within ±3.
struct LabelScore {
  int labels = 0;
  int found = 0;
  int extra = 0;
};
LabelScore score_labels(const std::vector<LabelledHistory>& histories, const ChangePointRule& rule);

}  // namespace dlscale::regression
