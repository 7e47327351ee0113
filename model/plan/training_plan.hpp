#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/iteration_grid.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"

namespace dlscale::model {

/// The length of a training.
struct TrainingLength {
  double epochs = 0;   ///< > 0; at small batches, if there is a critical batch
  double samples = 0;  ///< > 0, in an epoch
  /// B_crit > 0 of epochs_to_target(). Empty: the number of epochs does not depend on the batch,
  /// which holds for batches of up to some thousands at most.
  std::optional<double> critical_batch = {};
  /// E(B) of a global batch B > 0.
  [[nodiscard]] double epochs_at(double global_batch) const;
};

/// The limits of a plan. An absent limit does not apply.
struct PlanLimits {
  std::optional<Seconds> time = {};         ///< the most time of training
  std::optional<double> budget = {};        ///< the highest cost of training, in units of `price`
  std::optional<double> global_batch = {};  ///< the most images of an iteration
};

/// The objective of a plan: the least time, the least cost, or the highest speed-up per rank over
/// one rank with the same batch. Equal trainings (up to rounding) are ordered by lower cost or
/// time, then by fewer ranks, smaller batch, and the earlier exchange.
enum class Objective { time, cost, efficiency };
inline constexpr std::array all_objectives{Objective::time, Objective::cost, Objective::efficiency};
std::string_view objective_name(Objective objective);
Objective parse_objective(std::string_view name);  ///< throws ConfigError

struct PlanQuestion {
  PlanSpace space;
  TrainingLength length;
  PlanLimits limits = {};
  Objective objective = Objective::time;
  std::optional<double> price = {};  ///< > 0, of one rank's device per hour; absent: cost in hours
  std::size_t checked = 3;           ///< ≥ 1: number of the best that are simulated
  /// The most ranks that were asked for, before shares of a global batch leave any out; ≥ 1.
  int most_ranks = 1;
  int cluster_ranks = 1;                ///< ranks that the cluster holds; ≥ 1
  std::vector<std::string> notes = {};  ///< notes on the question, shown with the answer
};

/// Whether a training keeps to the limits over the 90 % interval of its iteration.
enum class LimitsKept {
  throughout,    ///< at its slow end, too
  as_predicted,  ///< but not at its slow end
  at_quick_end,  ///< but not as predicted
  not_at_all,
};
std::string_view limits_kept_name(LimitsKept kept);  ///< "throughout", "as predicted", …

/// The reason why the best training has no more ranks, no larger batch, or no other ones.
enum class ChoiceBound {
  objective,  ///< others are worse by the objective
  asked,      ///< no more were asked for
  cluster,    ///< the cluster has no more
  shares,     ///< more ranks cannot share the global batch equally, or it says the batch
  memory,     ///< the next larger batch does not fit
  limits,     ///< `beyond_limits` is better, but exceeds a limit
};
std::string_view choice_bound_name(ChoiceBound bound);  ///< "objective", "asked", …

/// One configuration of a training.
struct PlannedTraining {
  PlanPlace place;
  Exchange exchange;
  int ranks = 1;
  int batch = 1;
  Seconds iteration;
  double epochs = 0;
  Seconds time;           ///< without evaluations and start
  double rank_hours = 0;  ///< total of all devices
  double cost = 0;        ///< rank_hours · price; rank_hours without a price
  double images_per_s = 0;
  double efficiency = 0;
  /// 90 % interval of `efficiency`, where there is one of `iteration`.
  std::optional<QuantityInterval> efficiency_interval = {};
  bool by_form = true;  ///< by the batched form, not by simulation
  /// 90 % interval of `iteration`, for the best, the neighbours, and told_of_front().
  std::optional<IterationInterval> interval = {};
  LimitsKept kept = LimitsKept::as_predicted;  ///< meaningful where `interval` is set
  /// Time and cost of training grow in proportion to the iteration `one`.
  [[nodiscard]] Seconds time_at(Seconds one) const { return one / iteration * time; }
  [[nodiscard]] double cost_at(Seconds one) const { return one / iteration * cost; }
  [[nodiscard]] double global_batch() const { return static_cast<double>(ranks) * batch; }
  int servers = 1;  ///< ranks or nodes that own parameters, if the exchange uses servers
};

/// One of the best trainings, predicted in full as well.
struct CheckedTraining {
  PlannedTraining planned;    ///< by the batched form, where it holds
  PlannedTraining simulated;  ///< by the task graph
  std::string bound;          ///< the resource that limits the iteration
  std::vector<Note> notes;
};

/// The effect of one other choice in the best training.
struct PlanNeighbour {
  std::string change;  ///< "batch 64 instead of 32"
  PlannedTraining planned;
  bool within_limits = true;
};

struct TrainingPlan {
  PlanQuestion question;
  std::string samples = "images";  ///< or "sequences"
  Run run;                         ///< the run of the best training
  /// The best trainings by simulation, the best first; ≥ 1.
  std::vector<CheckedTraining> best;
  /// The Pareto front of time and cost, by time: no other training is both faster and cheaper.
  std::vector<PlannedTraining> front;
  std::vector<PlanNeighbour> neighbours;
  ChoiceBound ranks_bound = ChoiceBound::objective;
  ChoiceBound batch_bound = ChoiceBound::objective;
  /// The best training that exceeds a limit, if it is better than the best within them.
  std::optional<PlannedTraining> beyond_limits = {};
  std::size_t configurations = 0;  ///< number of configurations in the question
  std::size_t within_limits = 0;
  std::size_t by_form = 0;
  std::size_t by_simulation = 0;
  std::vector<std::string> why_simulated;
  std::vector<std::string> left_out;  ///< batches that the memory does not hold
  std::vector<std::string> too_few;   ///< numbers of ranks below the number of servers
  /// Whether efficiency is relative to one rank with the whole global batch. It is if a global
  /// batch is given and the memory of one rank holds it.
  bool over_all = false;
};

/// Indices of the points of a front, by ascending time, that are shown to people. They are at most
/// about twelve: the ends, and points between them at about equal ratios of their times.
std::vector<std::size_t> told_of_front(const std::vector<PlannedTraining>& front);

/// The best training of a question. Pure, as predict() is. Throws ConfigError as iteration_grid()
/// does. It also throws if no training keeps to the limits as predicted. The error names the limit,
/// by how much it is missed, and the interval of the nearest training.
TrainingPlan plan_training(const Network& network, const Machine& machine, const Run& run,
                           const PlanQuestion& question);

}  // namespace dlscale::model
