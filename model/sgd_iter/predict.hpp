#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/contention_costs.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/graph/iteration_time.hpp"

namespace dlscale::model {

struct RankSpread;

/// What part of an interval [Prediction::low, Prediction::high] is to hold.
inline constexpr double prediction_interval = 0.9;

struct Prediction {
  Run run;
  IterationTime time;                        ///< by simulation of the task graph
  std::optional<IterationTime> closed_form;  ///< (1.1)–(1.9), where they apply
  std::string closed_form_absent;            ///< why not, else empty
  /// 90 % interval of time.total, from the intervals of the machine's parameters; of data sheets
  /// from what published trainings reached of them. Without what nobody knows an interval of, which
  /// is noted. Absent where no part of the prediction has one.
  std::optional<Seconds> low;
  std::optional<Seconds> high;
  PhaseSources sources = {};
  double images_per_s = 0;
  double speedup = 0;     ///< over one rank with the same batch per rank
  double efficiency = 0;  ///< speedup / ranks
  /// bound_by(), or "kernel launches": compute that the host gives more slowly than the device does
  /// it.
  std::string bound;
  /// What computing and messages cost each other, as far as it was measured and concerns the run.
  std::vector<UsedContention> contention;
  /// Whether the threads of a rank may want more cores than it has, so that they slow each other.
  bool shares_cores = false;
  std::vector<Note> notes;  ///< what was interpolated, extrapolated or assumed
};

/// What an iteration of these phases, predicted or measured, goes at the pace of: "compute",
/// "input", "communication", "update" or "host-to-device copy". One that waits for input for more
/// than 1 % of its time goes at the pace of input, whatever the rest takes, unless loading and
/// computing take the same cores (`shares_cores`): then the greater work counts. Else the longest
/// of what is done; of communication that is all of it, hidden too: of an iteration that overlaps
/// computing and messages completely, the longer one sets the pace.
std::string_view bound_by(const IterationTime& time, bool shares_cores);

/// One prediction for each number of ranks, of as_run() of the network. Pure: reads no file, no
/// clock, no device. Throws ConfigError if the machine lacks what the run needs, naming the
/// benchmark to run, and if its memory cannot hold the run (memory.hpp).
std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks);
/// The same of ranks whose computing varies: see add_stragglers().
std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks, const RankSpread& spread);

}  // namespace dlscale::model
