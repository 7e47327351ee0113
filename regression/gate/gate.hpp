#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "regression/gate/gate_report.hpp"
#include "regression/gate/paired_gate.hpp"
#include "regression/gate/round.hpp"

namespace dlscale::regression {

/// Names of a gate's arms. The canary is the base once more (an A/A control).
inline constexpr const char* base_arm = "base";
inline constexpr const char* changed_arm = "new";
inline constexpr const char* canary_arm = "canary";

/// Margins that noise chose, by arm, key and series.
using GateMargins = std::map<std::tuple<std::string, std::string, std::string>, double>;

/// Decides whether a version is slower than another:
///
///   Gate gate(rule);
///   while (gate.wants_more()) gate.add(measure_round());
///   return exit_code(gate.verdict(), exits);
///
/// Each metric is judged by the rule (regression/gate/paired_gate.hpp) over the rounds without a
/// disturbance(). Metrics are the values that both versions measured in every such round; the notes
/// name the others. The session yields no verdict, and all its metrics are inconclusive, in three
/// cases:
///
///   invalid          runs of a round differ in machine, program or number of ranks
///   unsteady         more rounds are disturbed than not, apart from a few
///   canary alarmed   the base differs from itself by the same rule
class Gate {
 public:
  /// `ranks`: the number of ranks that each run must have had; 0 accepts any. Requires a look.
  explicit Gate(GateRule rule, int ranks = 0);
  /// Each round must have a run of base_arm and of changed_arm, and all or none one of canary_arm.
  void add(Round round);
  /// False if further rounds cannot change the verdict, or the session cannot yield one.
  [[nodiscard]] bool wants_more() const;
  /// Everything but commands, commits, machine and seed. It depends only on the rounds, not on when
  /// it was asked for.
  [[nodiscard]] const GateReport& verdict() const;

 private:
  [[nodiscard]] GateReport judged() const;

  GateRule rule_;
  int ranks_;
  std::vector<Round> rounds_;
  mutable std::optional<GateReport> verdict_;  ///< empty: rounds came since it was judged
  mutable GateMargins margins_;
};

/// The options that exit codes depend on, besides the verdict.
struct GateExit {
  enum class Inconclusive { fails, passes } inconclusive = Inconclusive::fails;
  enum class Improvement { passes, fails } improvement = Improvement::passes;
  /// Metrics that the base measured and the new version did not.
  enum class Missing { passes, fails } missing = Missing::passes;
};
ExitCode exit_code(const GateReport& verdict, const GateExit& exits);

}  // namespace dlscale::regression
