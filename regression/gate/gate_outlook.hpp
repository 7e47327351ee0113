#pragma once
#include <optional>
#include <string>
#include <vector>

#include "regression/gate/gate_report.hpp"

namespace dlscale::report {

/// How many rounds more an inconclusive metric may take until its interval, narrower by √n, ends at
/// the margin, if further rounds are like those so far; absent for other metrics, without the end
/// of the interval that matters, and beyond 1000, where the change is too near to the margin.
///
///   n' = n (h / d)²    h: from the estimate to the end of the interval beyond the margin;
///                      d = |ln ratio − ln(1 + δ)|
///
/// Where it is wrong: looks come at certain rounds only, and each has an α of its own.
std::optional<int> more_rounds(const GateMetric& metric, double margin);

/// 1.4826 · MAD / median of the base's runs, over all rounds: how much the same version differs
/// from run to run. Absent below 3 rounds.
std::optional<double> noise_of_base(const GateMetric& metric);

/// About the smallest change that the gate calls regressed in 8 of 10 cases at its last look.
///
///   ln(1 + δ) + (z_{1−α} + z_.8) σ / √(e n)    σ: 1.4826 · MAD of ln(new / base) over the rounds;
///                                              e: 3/π for the signed rank, 2/π for the sign test,
///                                              their efficiencies on normal differences
///
/// Where it is wrong: few rounds tell σ badly, and differences are not normal; `dlscale noise`
/// measures what this estimates. Absent below 3 rounds.
std::optional<double> smallest_seen(const GateMetric& metric, double margin, const GateLook& last);

/// Metrics of one benchmark, series and unit.
struct GateKind {
  std::string name;  ///< "gemm", "e2e: t_iter"
  std::string unit;
  int metrics = 0;
  double base = 1;  ///< geometric means
  double changed = 1;
  double ratio = 1;  ///< above 1: worse
};

/// Those of several metrics, in the order of the first of each.
std::vector<GateKind> gate_kinds(const GateReport& gate);

}  // namespace dlscale::report
