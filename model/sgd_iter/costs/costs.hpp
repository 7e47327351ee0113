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
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The groups of parameters whose errors are taken as independent of each other.
enum class IterationTerm { compute, communication, copy, update, input, launches, contention };
constexpr IterationTerm all_iteration_terms[] = {
    IterationTerm::compute,   IterationTerm::communication, IterationTerm::copy,
    IterationTerm::update,    IterationTerm::input,         IterationTerm::launches,
    IterationTerm::contention};
/// A parameter's value or an end of its interval.
enum class Bound { value, low, high };
/// Of each term, by its place in all_iteration_terms.
using TermBounds = std::array<Bound, std::size(all_iteration_terms)>;

/// What a step takes on the device, and the host to give it to one that runs beside it.
struct StepCost {
  Estimate<Seconds> compute;
  Estimate<Seconds> give;
  WorkKind kind = WorkKind::copy;
};

/// Before forward step `step`, the next forward pass waits for the message of backward part `part`
/// and updates what it was about.
struct LateCost {
  std::size_t step = 0;
  std::size_t part = 0;
  StepCost update;
};

/// What a run needs of a machine, with intervals.
struct IterationCosts {
  IterationPlan shape;     ///< threads, cores, schedule; its times are unused but for storage
  Estimate<Seconds> load;  ///< one loader thread's share of a batch
  StepCost h2d;
  std::vector<StepCost> forward;
  std::vector<LateCost> late;                       ///< by step
  std::vector<std::vector<StepCost>> backward;      ///< parts, in order of execution
  std::vector<std::optional<MessageCost>> message;  ///< after each part
  std::shared_ptr<const MessageTimes> packed;       ///< of the packs, where messages are packed
  ContentionCosts contention;
  Estimate<Seconds> choice;   ///< of the next piece of a message
  Estimate<Seconds> meeting;  ///< of ranks before a message
  ScheduleSettings settings;
  StepCost update;  ///< at the end of the iteration
  PhaseSources sources;

  /// All at their values, except those of `moved`, which are at `bound`. The Notes that the costs
  /// were found with must outlive a plan that packs.
  [[nodiscard]] IterationPlan plan(std::optional<IterationTerm> moved, Bound bound) const {
    TermBounds bounds{};
    if (moved) bounds.at(static_cast<std::size_t>(*moved)) = bound;
    return plan(bounds);
  }
  /// The same of several terms.
  [[nodiscard]] IterationPlan plan(const TermBounds& bounds) const;
};

/// Throws ConfigError if the device of the cluster cannot copy, normalise, or be given kernels, as
/// the run asks for.
void check_device(const Cluster& cluster, const Run& run);

/// Looks up everything run.ranks ranks need. Throws ConfigError naming the benchmark to run if the
/// machine lacks it. Notes what was not measured as it is used.
IterationCosts iteration_costs(const Network& network, const Machine& machine, const Run& run,
                               Notes& notes);
/// The update of so many bytes of parameters, as it is in these. Requires a machine that knows one.
StepCost update_cost(const Network& network, const Machine& machine, const Run& run,
                     Bytes parameters, Notes& notes);

}  // namespace dlscale::model
