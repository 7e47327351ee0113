#pragma once
#include <optional>
#include <span>
#include <string>

#include "regression/gate/gate_report.hpp"

namespace dlscale::regression {

/// The power at which a change counts as detectable.
inline constexpr double wanted_power = 0.8;

/// 1.4826 · MAD: the standard deviation of normal values, which outliers do not move.
double robust_deviation(std::span<const double> values);

/// Whether the digits of its values leave open on which side of the limits a metric's change is, so
/// that further rounds cannot decide it.
bool is_hidden_by_rounding(const GateMetric& metric, double margin);

/// Further rounds that an inconclusive metric may need until its bounds, nearing the estimate by
/// √n, decide it. Assumes that further rounds resemble those so far. Absent for other metrics, if
/// the bounds are unknown or the digits hide the change, and beyond 1000 rounds, where the change is
/// too close to δ.
///
///   n' = n (h / d)²    h, d: from the estimate to a bound, and to the limit that it has to reach
///
///   θ > ln(1 + δ)   L to ln(1 + δ)
///   else            U to ln(1 + δ) and U' to ln(1 + 2 δ), whichever is later
///   m > δ           or, if earlier, the same with m, unless L is above 0 by then
///
/// Where it is wrong: looks happen only at certain rounds, and each has its own α.
std::optional<int> more_rounds(const GateMetric& metric, const GateReport& gate);

/// Estimates the smallest change that the gate calls regressed in 8 of 10 cases at its last look.
///
///   ln(1 + δ) + (z_{1−α} + z_.8) σ / √(e n) + what rounding allows
///                                              σ: 1.4826 · MAD of ln(new / base) over the rounds;
///                                              e: 3/π for the signed rank, 2/π for the sign test,
///                                              their efficiencies on normal differences
///
/// Where it is wrong: few rounds estimate σ badly, and differences are not normal. `dlscale noise`
/// measures this value. Absent below 3 rounds.
std::optional<double> smallest_seen(const GateMetric& metric, double margin, const GateLook& last);

/// "this machine can decide changes of 2.5 % in 40 rounds": the rounds of the last look. Empty before
/// the first look and where nothing was compared. Draws 200 gates of each metric.
std::string decidable_changes(const GateReport& report);

/// "changes of 1.3 % would take 160 rounds": four times the rounds. Empty as above, and beyond 400
/// rounds.
std::string decidable_by_more_rounds(const GateReport& report);

}  // namespace dlscale::regression
