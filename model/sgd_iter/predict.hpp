#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/contention_costs.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"

namespace dlscale::model {

struct RankSpread;

/// Probability content of an interval [Prediction::low, Prediction::high].
inline constexpr double prediction_interval = 0.9;

struct Prediction {
  Run run;
  IterationTime time;                        ///< by simulation of the task graph
  std::optional<IterationTime> closed_form;  ///< where one holds
  std::string closed_form_absent;            ///< reason if absent, else empty
  /// 90 % interval of time.total, from the intervals of the machine's parameters; for data sheets
  /// from published trainings. Leaves out parts of unknown uncertainty, which are noted. Absent
  /// where no part of the prediction has an interval.
  std::optional<Seconds> low;
  std::optional<Seconds> high;
  PhaseSources sources = {};
  double images_per_s = 0;
  double speedup = 0;     ///< over one rank with the same batch per rank
  double efficiency = 0;  ///< speedup / ranks
  /// 90 % interval of the speed-up: relative_speedup(). Absent where that of the time is.
  std::optional<double> speedup_low;
  std::optional<double> speedup_high;
  /// bound_by(), or "kernel launches": the host launches compute more slowly than the device does
  /// it.
  std::string bound;
  int tokens = 0;  ///< of a sample; 0: images
  /// Samples a second by sheet_limit(), where it was asked for.
  std::optional<double> sheet_limit = {};
  /// Measured contention of computing and messages that applies to the run.
  std::vector<UsedContention> contention;
  /// Whether the threads of a rank may want more cores than it has, and so slow each other down.
  bool shares_cores = false;
  std::vector<Note> notes;  ///< interpolations, extrapolations and assumptions
};

/// The bottleneck of an iteration with these phases, predicted or measured: "compute", "input",
/// "communication", "update" or "host-to-device copy". It is input if an iteration waits for input
/// for more than 1 % of its time, unless loading and computing take the same cores
/// (`shares_cores`): then the greater work counts. Else it is the longest phase. Communication
/// includes the hidden part: where computing and messages overlap completely, the longer one is the
/// bottleneck.
std::string_view bound_by(const IterationTime& time, bool shares_cores);

/// Sets a speed-up with its interval, which is relative to it, and the efficiency.
void set_speedup(double speedup, const std::optional<QuantityInterval>& relative,
                 Prediction& prediction);

/// One prediction for each number of ranks, of as_run() of the network. Pure: reads no file, no
/// clock, no device. Throws ConfigError if the machine lacks costs of the run, naming the benchmark
/// to run, and if its memory cannot hold the run (memory.hpp).
std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks);
/// The predictions for ranks whose computing varies: see add_stragglers().
std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks, const RankSpread& spread);

}  // namespace dlscale::model
