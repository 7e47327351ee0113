#pragma once
#include <optional>
#include <string>

#include "regression/gate/gate_report.hpp"

namespace dlscale::app {

/// "[12/40 rounds] 2 of 8 metrics open, gemm kernel=64x64x64 +0.4 % ±0.9 (at most 3 min left)". The
/// effect is that of the worst open metric, with half its interval. `round_s` is the time of a
/// round, `budget_s` the time left of a budget.
std::string gate_progress(const report::GateReport& report, double round_s,
                          const std::optional<double>& budget_s);

/// "[3 rounds, 1.5 of 10.0 min] (about 9 min left)".
std::string noise_progress(int rounds, double spent_s, double budget_s);

}  // namespace dlscale::app
