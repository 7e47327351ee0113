#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "noise_models.hpp"
#include "recorded_noise.hpp"
#include "regression/gate/paired_gate.hpp"
#include "regression/statistics/change_points.hpp"

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
