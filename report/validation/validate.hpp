#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/validation/run_networks.hpp"
#include "report/validation/validate_order.hpp"

namespace dlscale::report {

/// One phase of one run, predicted against measured (median over repeats of the run's median).
struct PhaseError {
  std::string phase;  ///< "t_iter", then "t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed", "t_u",
                      ///< "t_other" (which no model predicts: 0 s)
  Seconds predicted;
  Seconds measured;
  std::optional<double> error;  ///< signed, (predicted - measured) / measured; absent: measured 0 s
  double share_of_error = 0;    ///< (predicted - measured of this phase) / measured t_iter
};

struct RunValidation {
  std::string key;  ///< of the measurements, without `repeat`
  /// The key without what says how gradients travel: alike for runs that differ in that alone, if
  /// they are over the same links.
  std::string training;
  std::string links;  ///< between hosts, where the results say which (model/fits/links.hpp)
  Run run;
  std::string backend;
  int repeats = 0;
  std::vector<Seconds> measured;  ///< t_iter, one per repeat
  /// From the least to the greatest end of the 95 % intervals of these.
  Seconds measured_low;
  Seconds measured_high;
  std::vector<double> errors;  ///< of t_iter, one per repeat
  std::vector<PhaseError> phases;
  model::Prediction prediction;
  std::string blame;  ///< the phase with the largest |share_of_error|
  /// What the phases measured say that it goes at the pace of (model::bound_by()). They do not tell
  /// the launches of kernels, which prediction.bound may name, from compute.
  std::string measured_bound;
  /// Error of the baseline model "n ranks take as long as one": absent at 1 rank and where the
  /// same run was not measured at 1 rank.
  std::optional<double> naive_error;

  [[nodiscard]] const PhaseError& iteration() const { return phases.front(); }
};

/// Error of t_iter over a group of runs (all, one rank, two ranks, …), every repeat counted.
struct ErrorSummary {
  std::string group;  ///< "all", "2 ranks", "resnet50", "wait_free by parameter server"
  int ranks = 0;      ///< of a group by number of ranks, else 0
  int runs = 0;
  int repeats = 0;
  double bias = 0;  ///< median signed error
  double median_abs = 0;
  double p90_abs = 0;
  std::optional<double> naive_median_abs;  ///< of the runs that have a baseline
};

struct Validation {
  std::vector<RunValidation> runs;
  std::vector<ErrorSummary> summaries;
  /// One for each training on several ranks of which several schedules were measured.
  std::vector<ScheduleOrder> orders;
  /// Measurements left out, and why; in what runs differ from what the machine was fitted to.
  std::vector<std::string> notes;
  Networks networks;   ///< that predictions were made of, where validate() read them
  int not_judged = 0;  ///< measurements left out that were begun: wrong, interrupted, lost
};

/// Holds predictions of `machine` against measured "e2e" results. Throws ConfigError if there are
/// none, or if a file with "e2e" results is among the machine's sources. A run of a network that
/// its configuration does not describe any more (network_objection()) is not judged. Runs of
/// another processor, host, backend or library than the machine's are judged all the same, and
/// noted.
Validation validate(const model::Machine& machine, std::span<const ResultFile> results);

/// The same for any predictor.
using Predictor = std::function<model::Prediction(const Run&)>;
Validation validate(const Predictor& predictor, std::span<const ResultFile> results);

/// Largest median absolute errors of the iteration that pass, and the least rank correlation of
/// schedules; absent: their order is told and not judged, for that of a few is a coarse figure.
struct Limits {
  double one_rank = 0.05;
  double more_ranks = 0.10;
  std::optional<double> order = {};
};
bool passes(const ErrorSummary& summary, double limit);
/// The limit for a group by number of ranks; nothing for other groups.
std::optional<double> limit_of(const ErrorSummary& summary, const Limits& limits);
/// Whether the order of schedules was predicted as well as the limit asks for. Absent without a
/// limit, and where no two schedules are apart in what was measured: then there is no order to be
/// predicted.
std::optional<bool> passes(const ScheduleOrder& order, const Limits& limits);
/// regression if a group by number of ranks or an order of schedules misses its limit, else
/// inconclusive if a measurement could not be judged, for a prediction is not right where nobody
/// looked, or no order although there is a limit for it, else ok.
ExitCode exit_code(const Validation& validation, const Limits& limits);

}  // namespace dlscale::report
