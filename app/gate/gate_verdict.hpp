#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/gate/interleaved.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/gate/paired_gate.hpp"

namespace dlscale::app {

/// Names of a gate's arms; the canary runs the base once more.
inline constexpr const char* base_arm = "base";
inline constexpr const char* changed_arm = "new";
inline constexpr const char* canary_arm = "canary";

/// What the rounds so far say, by the rule. Metrics are what both versions measured in every round;
/// what else was measured stands in the notes. `ranks` > 0: how many there must have been. Rounds
/// in which the machine was slowed or held back are set aside. A round in which the versions ran on
/// different machines, or with another number of ranks, makes the session invalid; then, if more
/// rounds are set aside than kept, and if the canary alarms, all metrics are inconclusive and say
/// why. Fills all of the report but commands, machine and seed.
report::GateReport judge_rounds(std::span<const Round> rounds, const report::GateRule& rule,
                                int ranks);

/// Whether no further round can change a verdict, or the session tells nothing.
bool is_decided(const report::GateReport& report);

/// What exit codes depend on beside the verdict.
struct GateExit {
  enum class Inconclusive { fails, passes } inconclusive = Inconclusive::fails;
  enum class Improvement { passes, fails } improvement = Improvement::passes;
  /// What the base measured and the new version did not.
  enum class Missing { passes, fails } missing = Missing::passes;
};
ExitCode exit_code(const report::GateReport& report, const GateExit& exits);

}  // namespace dlscale::app
