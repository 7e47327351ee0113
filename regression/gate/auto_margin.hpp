#pragma once
#include <span>

#include "regression/gate/gate_report.hpp"
#include "regression/gate/paired_gate.hpp"

namespace dlscale::regression {

/// The least and the most margin that noise chooses. Smaller changes come from the layout of code
/// more than from work, and larger ones matter whatever the noise.
inline constexpr double least_auto_margin = 0.01;
inline constexpr double most_auto_margin = 0.10;

/// The share of gates of identical versions that are decided at a margin of noise.
inline constexpr double decided_share = 0.9;

/// The rounds whose noise chooses a margin: those of the first look.
int rounds_of_noise(const std::vector<GateLook>& looks);

/// The smallest margin, a fraction, at which a gate of this δ and these looks calls identical
/// versions not regressed in decided_share of the cases. `differences` are d_r of rounds so far, and
/// rounding may have made them smaller by up to `rounding`.
///
///   m = quantile of min over looks of M*    M*: least_log_margin() of gates whose differences are
///                                           drawn from ±f (d_r − median d), 200 gates with a fixed
///                                           seed
///
/// f = 1 + 1.5 / n allows for few rounds, which show too little of the noise (derived, checked by
/// tests/regression/gate). Where it is wrong: rounds that resemble their neighbours.
double decidable_change(std::span<const double> differences, const GateRule& rule,
                        double rounding = 0);

/// The margin of a metric: decidable_change() of the first rounds, rounded up to one of a few
/// values between the two limits above.
///
/// The verdict may use the same rounds again, since it compares a confidence bound with the margin:
/// "not regressed" is wrong only if U < m ≤ θ. Then U < θ, which the bound allows with α at most,
/// however m was chosen. "Regressed" does not depend on it.
double auto_margin(std::span<const double> differences, const GateRule& rule, double rounding = 0);

}  // namespace dlscale::regression
