#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "model/machine.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::report {

/// One phase of one run, predicted against measured (median over repeats of the run's median).
struct PhaseError {
  std::string phase;  ///< "t_iter", "t_io", "t_h2d", "t_f", "t_b", "t_comm_exposed", "t_u"
  Seconds predicted;
  Seconds measured;
  double error = 0;           ///< signed, (predicted - measured) / measured; of t_iter
  double share_of_error = 0;  ///< (predicted - measured of this phase) / measured t_iter
};

struct RunValidation {
  Run run;
  int repeats = 0;
  std::vector<double> errors;  ///< of t_iter, one per repeat
  std::vector<PhaseError> phases;
  model::Prediction prediction;
  std::string blame;  ///< the phase with the largest |share_of_error|
};

/// Error of t_iter over a group of runs (all, one rank, two ranks, …).
struct ErrorSummary {
  std::string group;
  int runs = 0;
  double bias = 0;  ///< median signed error
  double median_abs = 0;
  double p90_abs = 0;
  double naive_median_abs =
      0;  ///< baseline: t_iter(n) = the measured t_iter(1) of the same network
};

struct Validation {
  std::vector<RunValidation> runs;
  std::vector<ErrorSummary> summaries;
};

/// Holds predictions of `machine` against measured "e2e" results. Throws ConfigError if there are
/// none, or if a result file is among the machine's sources.
Validation validate(const model::Machine& machine, std::span<const ResultFile> results);

}  // namespace dlscale::report
