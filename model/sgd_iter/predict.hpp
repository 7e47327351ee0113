#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/contention_costs.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"

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
  /// bound_by(), or "kernel launches": the host launches compute more slowly than the device does
  /// it.
  std::string bound;
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

/// One prediction for each number of ranks, of as_run() of the network. Pure: reads no file, no
/// clock, no device. Throws ConfigError if the machine lacks costs of the run, naming the benchmark
/// to run, and if its memory cannot hold the run (memory.hpp).
std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks);
/// The predictions for ranks whose computing varies: see add_stragglers().
std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks, const RankSpread& spread);

struct IterationCosts;

/// The ends of an interval of an iteration's time.
struct IterationInterval {
  Seconds low;
  Seconds high;
};

/// The 90 % interval of an iteration of these costs, whose time at their values is `total`. It uses
/// joint_interval() over the terms: all inputs within a term err together, each as a normal error
/// on either side of its value. Simulates both ends of each term, and all ends of pairs of
/// computing or messages with a term that overlaps it, because overlap hides time. `fitted`
/// (Machine::fitted): the costs have 95 % intervals, else 90 %. Costs without an interval add
/// nothing; the notes of a prediction list them.
IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total);

/// Uncertainty of a quantity whose inputs err independently, each with an interval. It also holds
/// where one input hides another, as in a maximum.

/// Place of each input: -1 at its low end, 0 at its value, 1 at its high end.
using InputPlaces = std::vector<int>;
/// The quantity, finite, at given places of all inputs.
using OfInputs = std::function<double(const InputPlaces&)>;

struct QuantityInterval {
  double low = 0;
  double high = 0;
};

/// The 5 % to 95 % quantiles of T over independent errors u_i of the inputs. The u_i are normal on
/// either side of the value, with `deviations` > 0 of them to each end of an interval:
///   T(u) = T_0 + Σ_i |u_i| Δ_i,s + Σ_ij min(|u_i|, |u_j|) Δ_ij,st
///   Δ_i,s   = T at end s of input i alone, less T_0
///   Δ_ij,st = T at ends s of i and t of j, less both alone, and T_0
/// with s and t the sides of u_i and u_j. It is exact at the value, at all ends and at all ends of
/// two inputs of `pairs`. Between them it is linear on triangles: exact for sums, and for maxima
/// and minima of two inputs whose ends are on the same side. [D, derived: the Lovász extension of
/// each pair; L. Lovász, "Submodular functions and convexity" (1983)]
/// Quantiles are over the 1021 points of a Korobov lattice, so that equal arguments give equal
/// results. It evaluates T at 1 + 2 n + 4 |pairs| places of n inputs. For one input the ends are
/// T's own, to scale. The interval holds T_0, however one-sided the errors.
/// Wrong where three inputs hide each other but no two of them do, and where T bends between ends:
/// for a maximum by some hundredths of the interval. `pairs` are of different inputs, each once;
/// Δ_ij is 0 for all others.
QuantityInterval joint_interval(std::size_t inputs,
                                const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                                double deviations, const OfInputs& quantity);

}  // namespace dlscale::model
