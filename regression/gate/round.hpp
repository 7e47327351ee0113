#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regression/statistics/metric.hpp"

namespace dlscale::regression {

/// The condition of a GPU while it measured rows of one key.
struct GpuConditions {
  /// Thermal and hardware slowdowns, in words. A power cap is not among them, since GPUs work at it
  /// under load.
  std::vector<std::string> slowed_by;
  double power_limited = 0;  ///< share of the readings at the power cap
  double clock_hz = 0;       ///< median of the readings; 0: unknown
};

/// The condition of the machine during a run.
struct RunConditions {
  std::map<std::string, GpuConditions> gpus;  ///< by the key of the rows that report it
  std::vector<std::string> unsettled;  ///< keys of rows that did not settle in their time limit
  /// Number of thermal throttling events of this host's processors during the run; absent if the
  /// kernel does not count them.
  std::optional<std::int64_t> slowed_by_heat;
  std::optional<double> load;  ///< load average of the last minute, before the run
};

/// One number of one run: the measured value of one metric.
struct RunValue {
  std::string key;  ///< "gemm kernel=…", without the parts that only distinguish runs of one case
  std::string series;  ///< "time", "t_iter"; "real_time" of Google Benchmark; "wall"
  std::string unit;
  Direction direction = Direction::smaller_is_better;
  RunStatistic statistic = RunStatistic::single;
  double value = 0;
  int samples = 1;      ///< number of samples behind the value
  double spread = 0;    ///< 1.4826 · MAD / median of the samples; 0 for one
  double rounding = 0;  ///< half a unit of the last digit that its text had; 0: all digits
};

/// The header of one of the result files that a suite writes.
struct FileFacts {
  std::map<std::string, std::string> machine;  ///< facts that must be equal within a pair
  std::string build;                           ///< build of the program that wrote it
};

/// The output of a run.
struct RunOutcome {
  std::vector<RunValue> values;  ///< positive, sorted by key and series
  /// Facts that must be equal within a pair; may be empty. For several files, these are the facts
  /// that all files agree on, and the maximum of their ranks: steps of a suite without a launcher
  /// have one.
  std::map<std::string, std::string> machine;
  /// Facts that may differ: commit, build, compiler, flags.
  std::map<std::string, std::string> program;
  /// Facts by file name within the run; empty for other programs.
  std::map<std::string, FileFacts> files;
  RunConditions conditions;
  std::vector<std::string> without_times;  ///< keys that were not measured, with the reason
};

/// One round: every arm once, each in a fresh process, in random order.
struct Round {
  int number = 0;                  ///< from 1
  std::vector<std::string> order;  ///< names of the arms
  std::map<std::string, RunOutcome> runs;
  double seconds = 0;  ///< time of all its processes
  std::string date;    ///< at its end, ISO 8601, UTC
};

/// A round is disturbed if its slowest clock is below this share of its fastest.
inline constexpr double least_clock_share = 0.75;
/// A round is disturbed if the share of readings at the power cap differs by this much between
/// runs.
inline constexpr double most_power_difference = 0.5;

/// The reason why the runs of a round were disturbed: throttling, lower clocks in some runs, or a
/// power cap in some only. Empty if the reported conditions show none of these.
std::string disturbance(const Round& round);

/// The rounds without a disturbance(), in order, and notes on the others, which are discarded.
struct SteadyRounds {
  std::vector<Round> kept;
  std::size_t discarded = 0;
  std::vector<std::string> notes;  ///< "round 9 was set aside: …", for the first few
  /// Whether more rounds are discarded than kept, apart from a few. The machine is then not steady,
  /// and measuring has to stop.
  [[nodiscard]] bool is_unsteady() const;
};
SteadyRounds steady_rounds(std::span<const Round> rounds);

/// Whether two runs took place on different machines or on different numbers of ranks: the first
/// fact that differs, with both values. Empty if none does. Runs are compared file by file if both
/// wrote the same files, since steps of a suite may differ in ranks and cores.
std::string difference_of_place(const RunOutcome& a, const RunOutcome& b);

/// Whether some part of `run` was written by another program than in an earlier run of the same
/// version, or its files come from different builds.
bool was_built_anew(const RunOutcome& before, const RunOutcome& run);

}  // namespace dlscale::regression
