#pragma once
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/contention_costs.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Groups of parameters whose errors are independent of each other.
enum class IterationTerm { compute, communication, copy, update, input, launches, contention };
constexpr IterationTerm all_iteration_terms[] = {
    IterationTerm::compute,   IterationTerm::communication, IterationTerm::copy,
    IterationTerm::update,    IterationTerm::input,         IterationTerm::launches,
    IterationTerm::contention};
/// A parameter's value or an end of its interval.
enum class Bound { value, low, high };
/// Bound of each term, by its index in all_iteration_terms.
using TermBounds = std::array<Bound, std::size(all_iteration_terms)>;

/// Size of a vote on the gradients that are ready. [train/exchange/cycle_exchange.cpp,
/// train/exchange/priority_exchange.cpp]
inline constexpr Bytes vote_size = 8_B;

/// Time of a step on the device, and of the host to launch it if the device is asynchronous.
struct StepCost {
  Estimate<Seconds> compute;
  Estimate<Seconds> give;
  WorkKind kind = WorkKind::copy;
};

/// Before forward step `step`, the next forward pass waits for the message of backward part `part`
/// and updates its parameters.
struct LateCost {
  std::size_t step = 0;
  std::size_t part = 0;
  StepCost update;
};

/// How sure a level from measured points is of an iteration.
struct FromPoints {
  double miss = 0;          ///< ≥ 0: 90 % of the logarithm of its time, since the points disagree
  bool same_device = true;  ///< whether the points measured its computing
  bool same_exchange = true;  ///< whether messages travelled in the points as here
};

/// All costs of a run on a machine, with intervals.
struct IterationCosts {
  IterationPlan shape;     ///< threads, cores, schedule; of its times only storage counts
  Estimate<Seconds> load;  ///< one loader thread's share of a batch
  StepCost h2d;
  std::vector<StepCost> forward;
  std::vector<LateCost> late;                       ///< by step
  std::vector<std::vector<StepCost>> backward;      ///< parts, in order of execution
  std::vector<std::optional<MessageCost>> message;  ///< after each part
  /// By data sheets: servers exchange gradients beside a whole iteration, without messages here.
  std::optional<RunningExchange> running = {};
  std::shared_ptr<const MessageTimes> packed;  ///< times of packs, where messages are packed
  ContentionCosts contention;
  Estimate<Seconds> choice;   ///< choosing the next piece of a message
  Estimate<Seconds> barrier;  ///< barrier of the ranks before a message
  ScheduleSettings settings;
  StepCost update;         ///< at the end of the iteration
  SheetDelays delays;      ///< by data sheets; all 0 for machines that were measured
  bool by_sheets = false;  ///< of a machine that was not measured
  /// By data sheets, from measured points (MeasuredLevel): factors on computing, and on what
  /// several ranks add; then on all times, and a wait after messages.
  double computing = 1;
  double added = 1;
  double stretch = 1;
  Seconds unexplained = {};
  std::optional<FromPoints> from_points = {};
  /// By data sheets, on several ranks: what the interval depends on.
  std::optional<scaling::TrainingFacts> facts = {};
  Seconds vote = {};  ///< horovod by data sheets: of the hosts, on messages that are ready
  PhaseSources sources;

  /// The plan with all terms at their values, except `moved`, which is at `bound`. If it packs, the
  /// Notes of these costs must outlive it.
  [[nodiscard]] IterationPlan plan(std::optional<IterationTerm> moved, Bound bound) const {
    TermBounds bounds{};
    if (moved) bounds.at(static_cast<std::size_t>(*moved)) = bound;
    return plan(bounds);
  }
  /// The plan with all terms at `bounds`.
  [[nodiscard]] IterationPlan plan(const TermBounds& bounds) const;
};

/// Sets the factors of the machine's level for so many ranks. The factor on the whole iteration
/// becomes a wait after messages where it lengthens the iteration of several ranks, and else
/// shortens all times.
void apply_level(const Machine& machine, const Run& run, IterationCosts& costs);

/// Throws ConfigError if the device of the cluster cannot copy, normalize, or be launched as the
/// run asks.
void check_device(const Cluster& cluster, const Run& run);

/// Looks up all costs of run.ranks ranks. Throws ConfigError naming the benchmark to run if the
/// machine lacks it. Notes all substitutes for missing measurements.
IterationCosts iteration_costs(const Network& network, const Machine& machine, const Run& run,
                               Notes& notes);
/// Cost of the update of `parameters` bytes, as in these. Requires a machine with an update cost.
StepCost update_cost(const Network& network, const Machine& machine, const Run& run,
                     Bytes parameters, Notes& notes);

}  // namespace dlscale::model
