#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/gate/interleaved.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/gate/paired_gate.hpp"

namespace dlscale::app {

/// Names of a gate's arms. The canary is the base once more (an A/A control).
inline constexpr const char* base_arm = "base";
inline constexpr const char* changed_arm = "new";
inline constexpr const char* canary_arm = "canary";

/// Judges the rounds so far by the rule. Metrics are the values that both versions measured in
/// every round; other measurements appear in the notes. `ranks` > 0 is the expected number of
/// ranks. Rounds with a disturbance() are discarded. If the versions of a round ran on different
/// machines or numbers of ranks, the session is invalid. All metrics are then inconclusive and say
/// why; so they are if more rounds are discarded than kept, or if the canary alarms. Fills in all
/// of the report except commands, machine and seed.
regression::GateReport judge_rounds(std::span<const Round> rounds, const regression::GateRule& rule,
                                    int ranks);

/// Whether further rounds cannot change a verdict, or the session cannot yield one.
bool is_decided(const regression::GateReport& report);

/// The options that exit codes depend on, besides the verdict.
struct GateExit {
  enum class Inconclusive { fails, passes } inconclusive = Inconclusive::fails;
  enum class Improvement { passes, fails } improvement = Improvement::passes;
  /// Metrics that the base measured and the new version did not.
  enum class Missing { passes, fails } missing = Missing::passes;
};
ExitCode exit_code(const regression::GateReport& report, const GateExit& exits);

/// The rounds without a disturbance(), in order, and notes on the discarded ones.
struct Undisturbed {
  std::vector<Round> kept;
  std::size_t set_aside = 0;
  std::vector<std::string> notes;  ///< "round 9 was set aside: …", for the first few
  /// Whether more rounds are discarded than kept, apart from a few. The machine is then not steady,
  /// and measuring has to stop.
  [[nodiscard]] bool is_unsteady() const;
};
Undisturbed undisturbed(std::span<const Round> rounds);

}  // namespace dlscale::app
