#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "regression/statistics/direction.hpp"
#include "regression/statistics/run_statistic.hpp"
#include "regression/statistics/verdict.hpp"

namespace dlscale::report {

/// Which of the two versions.
enum class GateSideName { base, changed };

/// One round: one fresh process of each version, the order drawn at random. Statistics of the
/// runs, in the metric's unit.
struct GatePair {
  int round = 0;  ///< from 1
  GateSideName first = GateSideName::base;
  double base = 0;
  double changed = 0;
};

/// How the bounds of a metric were found (regression/gate/paired_gate.hpp).
enum class GateMethod { signed_rank, sign_test };
/// "signed rank", "sign test".
std::string_view gate_method_name(GateMethod method);

/// One metric over all rounds. Ratios have the sign "+ = worse": above 1 the changed version is
/// worse, whatever the direction (changed / base for times, base / changed for rates).
struct GateMetric {
  std::string key;     ///< "conv batch=8 …"; the benchmark's name for other programs
  std::string series;  ///< "time", "t_iter", …
  std::string unit;    ///< "s", "1/s", …
  Direction direction = Direction::smaller_is_better;
  RunStatistic statistic = RunStatistic::minimum;
  /// Medians of the runs' statistics, over the rounds that entered the verdict, as all below.
  double base = 0;
  double changed = 0;
  double ratio = 1;                 ///< e^θ
  std::optional<double> ratio_low;  ///< one-sided bounds, each at 1 − α of the look that decided;
  std::optional<double> ratio_high;  ///< absent: too few rounds for one
  double p = 1;             ///< that it is no worse than 1 + margin; of the look that decided
  double p_sequential = 1;  ///< the least p · α / α_look so far: valid over all looks
  double p_adjusted = 1;    ///< Benjamini-Hochberg over all metrics
  int rounds = 0;           ///< that entered the verdict
  GateMethod method = GateMethod::signed_rank;
  Verdict verdict = Verdict::inconclusive;
  std::string note;             ///< why there is no verdict, or what to know of it
  std::vector<GatePair> pairs;  ///< all rounds, also those after the verdict
};

/// A metric that the base measured in every round and the new version did not.
struct GateMissing {
  std::string key;     ///< as of GateMetric
  std::string series;  ///< likewise
  std::string unit;    ///< likewise
};

/// A look at the data: after so many rounds, with this share of the error.
struct GateLook {
  int rounds = 0;
  double alpha = 0;
};

/// A version: what was run and what it said of where it ran.
struct GateSide {
  std::vector<std::string> command;
  std::string commit;  ///< where known
  std::map<std::string, std::string> environment;
};

/// A against A by the same rule: an alarm there means that this session tells nothing.
enum class GateCanary { not_run, quiet, alarmed };
std::string_view gate_canary_name(GateCanary canary);

/// A gate as it ended. JSON {"schema": "dlscale.gate", "version": 1}, SI, unit in the key.
struct GateReport {
  double margin = 0;  ///< δ, a fraction
  std::vector<GateLook> looks;
  double q = 0.05;  ///< share of false discoveries among metrics called regressed
  std::uint64_t seed = 0;
  int rounds = 0;  ///< complete ones that count
  /// Rounds that do not, for the machine was slowed or held back in them; notes say how.
  int set_aside = 0;
  bool unsteady = false;  ///< that were too many, and the session tells nothing
  /// The rounds have nothing in common: other places, programs or numbers of ranks. Nothing is
  /// judged, and the first note says why.
  bool invalid = false;
  /// The least and the greatest load of the machine before a run, over the last minute.
  std::optional<std::pair<double, double>> load;
  GateSide base;
  GateSide changed;
  std::string machine;  ///< one line: processors, devices
  GateCanary canary = GateCanary::not_run;
  std::vector<GateMetric> metrics;
  std::vector<GateMetric> canary_metrics;  ///< A against A; empty if not run
  std::vector<GateMissing> missing;
  std::vector<std::string> notes;  ///< what was not measured or not valid, a sentence each
  Verdict verdict = Verdict::inconclusive;
  double duration = 0;  ///< s, of all processes
  std::string date;     ///< of the last round, ISO 8601, UTC
};

/// At most 140 characters: "2 regressed, 1 improved, 3 inconclusive of 84, 1 not measured · worst
/// conv … +6.1 % [4.0, 8.3] · 16 rounds · 2 × EPYC 7763 · canary quiet". The machine gives way
/// first where all of it is too long.
std::string gate_headline(const GateReport& report);

/// Whether the session can tell anything: its rounds are valid, the canary is not alarmed, and the
/// machine was steady.
bool is_trusted(const GateReport& report);

/// Inconclusive if the session cannot be trusted or has no metric; else regressed if any metric is;
/// else inconclusive if any is; else improved if any is; else not regressed.
Verdict overall_verdict(const GateReport& report);

/// The file's text, one line at its end. Throws std::logic_error for a number that is not finite.
std::string to_json(const GateReport& report);
/// Throws ConfigError naming file, place and what is wrong.
GateReport read_gate_report(const std::filesystem::path& path);
/// The same from text; `name` stands in messages.
GateReport gate_report_of(std::string_view text, const std::string& name);

}  // namespace dlscale::report
