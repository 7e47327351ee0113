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
#include "regression/statistics/metric.hpp"

namespace dlscale::regression {

/// The two versions that a gate compares.
enum class GateSideName { base, changed };

/// One round: one fresh process of each version, in random order. `base` and `changed` are
/// statistics of the runs, in the metric's unit.
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

/// One metric over all rounds. Ratios are oriented so that above 1 means worse, whatever the
/// direction: changed / base for times, base / changed for rates.
struct GateMetric {
  std::string key;     ///< "conv batch=8 …"; the benchmark's name for other programs
  std::string series;  ///< "time", "t_iter", …
  std::string unit;    ///< "s", "1/s", …
  Direction direction = Direction::smaller_is_better;
  RunStatistic statistic = RunStatistic::minimum;
  /// The middle level of the pairs, less and more by half of the change, so that they agree with
  /// `ratio`. Like all fields below, they cover the rounds that entered the verdict.
  double base = 0;
  double changed = 0;
  double ratio = 1;                  ///< e^θ
  double margin = 0;                 ///< "not regressed" says that the change is less; a fraction
  std::optional<double> ratio_low;   ///< one-sided bounds, each at 1 − α of the deciding look
  std::optional<double> ratio_high;  ///< absent if there are too few rounds for a bound
  double rounding = 0;               ///< half a unit of the last digit of its values; 0: all digits
  double p = 1;             ///< p-value of "not worse than 1 + margin", at the deciding look
  double p_sequential = 1;  ///< least p · α / α_look so far; valid over all looks
  double p_adjusted = 1;    ///< Benjamini-Hochberg over all metrics
  int rounds = 0;           ///< rounds that entered the verdict
  GateMethod method = GateMethod::signed_rank;
  Verdict verdict = Verdict::inconclusive;
  std::string note;             ///< why the verdict is missing, or how to read it
  std::vector<GatePair> pairs;  ///< all rounds, including those after the verdict

  [[nodiscard]] bool is_decided() const { return verdict != Verdict::inconclusive; }
};

/// A metric that the base measured in every round and the new version did not.
struct GateMissing {
  std::string key;     ///< as in GateMetric
  std::string series;  ///< likewise
  std::string unit;    ///< likewise
};

/// An interim look at the data after `rounds` rounds, which spends `alpha` of the error.
struct GateLook {
  int rounds = 0;
  double alpha = 0;
};

/// A version: its command, and the environment it reported.
struct GateSide {
  std::vector<std::string> command;
  std::string commit;  ///< where known
  std::map<std::string, std::string> environment;
};

/// Result of the A/A control, judged by the same rule; an alarm means that the session is not
/// reliable.
enum class GateCanary { not_run, quiet, alarmed };
std::string_view gate_canary_name(GateCanary canary);
/// The same for people: "not made", "passed", "failed".
std::string_view aa_test_result(GateCanary canary);

/// Result of a gate. JSON {"schema": "dlscale.gate", "version": 1}; SI, unit in the key.
struct GateReport {
  double margin = 0;             ///< δ, a fraction; that of the noisiest metric if noise chose it
  bool margin_of_noise = false;  ///< whether the noise of the first rounds chose the margins
  std::vector<GateLook> looks;
  double q = 0.05;  ///< accepted false-discovery rate among metrics called regressed
  std::uint64_t seed = 0;
  int rounds = 0;  ///< complete rounds that count
  /// Discarded rounds: the machine was slowed or throttled in them; the notes say how.
  int set_aside = 0;
  bool unsteady = false;  ///< too many rounds were discarded, so the session is not reliable
  /// The rounds are not comparable: they differ in place, program or number of ranks. Nothing is
  /// judged; the first note says why.
  bool invalid = false;
  /// Least and greatest one-minute load average of the machine before a run.
  std::optional<std::pair<double, double>> load;
  GateSide base;
  GateSide changed;
  std::string machine;  ///< one line: processors, devices
  GateCanary canary = GateCanary::not_run;
  std::vector<GateMetric> metrics;
  std::vector<GateMetric> canary_metrics;  ///< metrics of the A/A control; empty if it was not run
  std::vector<GateMissing> missing;
  std::vector<std::string> notes;  ///< missing and invalid measurements, one sentence each
  /// Inconclusive if the session is not reliable or has no metric. Else the first of regressed,
  /// inconclusive and improved that any metric has; else not regressed.
  Verdict verdict = Verdict::inconclusive;
  double duration = 0;  ///< s, total of all processes
  std::string date;     ///< date of the last round, ISO 8601, UTC
};

/// The margin beyond which a change is regressed or improved.
double least_margin(const GateReport& report);

/// Whether the gate timed a whole command by the clock.
bool is_time_of_command(const GateMetric& metric);

/// "conv batch=1: t_f"; "time of the command" of a whole command.
std::string metric_name(const GateMetric& metric);

/// Headline of at most 140 characters: "2 regressed, 1 improved, 3 inconclusive of 84, 1 not
/// measured · worst conv … +6.1 % (+4.0 to +8.3) · 16 rounds · 2 × EPYC 7763 · A/A test passed".
/// The machine is shortened first if the headline is too long.
std::string gate_headline(const GateReport& report);

/// Whether the session is reliable: its rounds are valid, the A/A control is quiet, and the machine
/// was steady.
bool is_trusted(const GateReport& report);

/// Text of the file, ending in one newline. Throws std::logic_error for a number that is not
/// finite.
std::string to_json(const GateReport& report);
/// Throws ConfigError that names the file, the place and the problem.
GateReport read_gate_report(const std::filesystem::path& path);
/// The same from text; error messages show `name`.
GateReport gate_report_of(std::string_view text, const std::string& name);

}  // namespace dlscale::regression
