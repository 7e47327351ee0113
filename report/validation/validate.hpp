#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/validation/run_networks.hpp"

namespace dlscale::report {

/// Ranks of values from 1, the smallest. Equal values share their mean rank: second and third get
/// 2.5 each. Values are equal to the smallest of a group if they exceed it by at most `tolerance`
/// times itself. Requires values ≥ 0.
std::vector<double> mean_ranks(std::span<const double> values, double tolerance = 0);

/// Pearson's correlation of two rankings of the same things, which is Spearman's ρ of the ranked
/// values; -1 to 1. Absent if a ranking is constant, or for fewer than two things. [C. Spearman,
/// The proof and measurement of association between two things, 1904]
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

/// Measured and predicted time of a schedule.
struct ScheduleTime {
  Seconds measured;   ///< median of the repeats
  Seconds low, high;  ///< ends of the interval of the measured time
  Seconds predicted;
};

/// How well predictions order the schedules of one training. Network, batch, precision, ranks,
/// links, backend and build are the same; only the gradient exchange differs.
struct ScheduleOrder {
  std::vector<std::size_t> runs;  ///< indices of these runs in the validation
  /// Ranks by the medians, however uncertain; equal medians share a rank.
  std::vector<double> measured_ranks;
  /// Ranks by the predictions. Those within a relative 1e-9 share a rank: their schedules send the
  /// same messages.
  std::vector<double> predicted_ranks;
  std::optional<double> correlation;  ///< rank_correlation() of the two rankings
  int pairs_apart = 0;               ///< pairs of schedules whose measured intervals do not overlap
  int pairs_right = 0;               ///< pairs among these that are predicted in the measured order
  std::size_t fastest_measured = 0;  ///< index in `runs`; the first of equals
  std::size_t fastest_predicted = 0;  ///< likewise: the schedule to choose by prediction
  /// Measured time of the schedule chosen by prediction over that of the fastest, minus 1; ≥ 0.
  double loss = 0;
};

/// The order of schedules with these measured and predicted times, without its `runs`. Requires ≥
/// 2.
ScheduleOrder order_of(std::span<const ScheduleTime> schedules);

/// One phase of one run, predicted against measured (median over repeats of the run's median).
struct PhaseError {
  /// "t_iter", then "t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed", "t_u", "t_other" (not
  /// predicted: 0 s)
  std::string phase;
  Seconds predicted;
  Seconds measured;
  /// Signed: (predicted - measured) / measured; absent if measured is 0 s.
  std::optional<double> error;
  double share_of_error = 0;  ///< (predicted - measured of this phase) / measured t_iter
};

struct RunValidation {
  std::string key;  ///< key of the measurements, without `repeat`
  /// The key without the axes that describe the gradient exchange. Equal for runs that differ only
  /// in these, if they use the same links.
  std::string training;
  std::string links;  ///< between hosts, if recorded (model/fits/fit.hpp)
  std::string build;  ///< "build 2" (report/validation/builds.hpp); empty if all are of one
  Run run;
  std::string backend;
  int repeats = 0;
  std::vector<Seconds> measured;  ///< t_iter, one per repeat
  /// Least end of the 95 % intervals of these times; `measured_high` is the greatest.
  Seconds measured_low;
  Seconds measured_high;
  std::vector<double> errors;  ///< errors of t_iter, one per repeat
  std::vector<PhaseError> phases;
  model::Prediction prediction;
  std::string blame;  ///< the phase with the largest |share_of_error|
  /// Bottleneck according to the measured phases (model::bound_by()). Phases do not separate kernel
  /// launches, which prediction.bound may name, from compute.
  std::string measured_bound;
  /// Error of the baseline model "n ranks take as long as one". Absent at 1 rank, and if the same
  /// run was not measured at 1 rank.
  std::optional<double> naive_error;

  [[nodiscard]] const PhaseError& iteration() const { return phases.front(); }
  /// Median absolute error over its repeats; ≥ 0.
  [[nodiscard]] double median_abs() const;
};

/// Least number of values of which the range is a 95 % interval of the median: 1 - 2/2^6 = 97 %.
constexpr int least_workloads = 6;

/// Error of t_iter over a group of runs (all, one rank, two ranks, …), with every repeat counted.
struct ErrorSummary {
  std::string group;  ///< "all", "2 ranks", "resnet50", "wait_free by parameter server"
  int ranks = 0;      ///< number of ranks if the group is by ranks, else 0
  int runs = 0;
  int workloads = 0;  ///< of network, batch, precision, links and number of ranks
  int repeats = 0;
  double bias = 0;  ///< median signed error
  double median_abs = 0;
  /// 95 % interval of `median_abs`, from the median error of each workload as one sample; absent
  /// for fewer than least_workloads.
  std::optional<double> median_abs_low = {};
  std::optional<double> median_abs_high = {};
  double p90_abs = 0;
  std::optional<double> naive_median_abs;  ///< over the runs that have a baseline
};

struct Validation {
  std::vector<RunValidation> runs;
  std::vector<ErrorSummary> summaries;
  /// One for each training on several ranks with several measured schedules.
  std::vector<ScheduleOrder> orders;
  /// Measurements left out, and why; differences between runs and the data that the machine was
  /// fitted to.
  std::vector<std::string> notes;
  Networks networks;   ///< networks of the predictions, if validate() read them
  int not_judged = 0;  ///< measurements that were begun but left out: wrong, interrupted, lost
};

/// Compares predictions of `machine` with measured "e2e" results. Throws ConfigError if there are
/// none, if they are of several processors, or if a file with "e2e" results is among the machine's
/// sources. Runs of several builds are judged apart and noted. A run is not judged if its
/// configuration no longer describes its network (network_objection()). Runs on another processor,
/// host, backend or library than the machine's are judged and noted.
Validation validate(const model::Machine& machine, std::span<const ResultFile> results);

/// The same for any predictor.
using Predictor = std::function<model::Prediction(const Run&)>;
Validation validate(const Predictor& predictor, std::span<const ResultFile> results);

/// Largest median absolute errors of the iteration that pass, and the least rank correlation of
/// schedules. Without the latter, the order is reported but not judged, since a correlation of few
/// schedules is coarse.
struct Limits {
  double one_rank = 0.05;
  double more_ranks = 0.10;
  std::optional<double> order = {};
};
bool passes(const ErrorSummary& summary, double limit);
/// Whether noise may decide between the error and the limit: the interval of the error includes the
/// limit, or is absent.
bool is_open(const ErrorSummary& summary, double limit);
/// Whether the intervals of the errors by number of ranks leave no doubt that all limits are kept,
/// or that one is missed. False if an interval that it takes is absent.
bool is_certain(const Validation& validation, const Limits& limits);
/// The limit for a group by number of ranks; absent for other groups.
std::optional<double> limit_of(const ErrorSummary& summary, const Limits& limits);
/// Whether the order of schedules was predicted well enough. Absent without a limit, and if no two
/// schedules differ measurably, so that their order is unknown.
std::optional<bool> passes(const ScheduleOrder& order, const Limits& limits);
/// regression if a group by number of ranks or an order of schedules misses its limit. Else
/// inconclusive if a measurement could not be judged, or if a limit for orders applies to none.
/// Else ok.
ExitCode exit_code(const Validation& validation, const Limits& limits);

}  // namespace dlscale::report
