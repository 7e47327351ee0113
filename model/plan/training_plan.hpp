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
#include "model/sgd_iter/iteration_interval.hpp"

namespace dlscale::model {

/// How long training goes on (MODEL 11).
struct TrainingLength {
  double epochs = 0;   ///< > 0: of small batches, where there is a critical one
  double samples = 0;  ///< > 0, of an epoch
  /// B_crit > 0 of (11.2); absent: as many epochs whatever the batch, which holds for batches of up
  /// to some thousands at most (11.5).
  std::optional<double> critical_batch = {};
  /// E(B) of a global batch B > 0.
  [[nodiscard]] double epochs_at(double global_batch) const;
};

/// What a plan must keep to; absent: no limit.
struct PlanLimits {
  std::optional<Seconds> time = {};         ///< of training
  std::optional<double> budget = {};        ///< what training may cost, as `price` counts
  std::optional<double> global_batch = {};  ///< the most images of an iteration
};

/// What is best: the least time, the least cost, or the highest speed-up a rank over one rank with
/// the same batch. Of equal ones (to rounding) the cheaper, or quicker, then the fewest ranks, the
/// smallest batch, and the exchange that is named first.
enum class Objective { time, cost, efficiency };
inline constexpr std::array all_objectives{Objective::time, Objective::cost, Objective::efficiency};
std::string_view objective_name(Objective objective);
Objective parse_objective(std::string_view name);  ///< throws ConfigError

struct PlanQuestion {
  PlanSpace space;
  TrainingLength length;
  PlanLimits limits = {};
  Objective objective = Objective::time;
  std::optional<double> price = {};  ///< > 0, of a rank's device for an hour; absent: cost in hours
  std::size_t checked = 3;           ///< ≥ 1: so many of the best are simulated
  std::vector<std::string> notes = {};  ///< how it came to be, to be told with the answer
};

/// Whether a training keeps to the limits, over the 90 % interval of its iteration.
enum class LimitsKept {
  throughout,    ///< at its slow end, too
  as_predicted,  ///< but not at its slow end
  at_quick_end,  ///< but not as predicted
  not_at_all,
};
std::string_view limits_kept_name(LimitsKept kept);  ///< "throughout", "as predicted", …

/// One way to train.
struct PlannedTraining {
  PlanPlace place;
  Exchange exchange;
  int ranks = 1;
  int batch = 1;
  Seconds iteration;
  double epochs = 0;
  Seconds time;           ///< (11.1) without evaluations and start
  double rank_hours = 0;  ///< of all devices together
  double cost = 0;        ///< by the price, or rank_hours
  double images_per_s = 0;
  double efficiency = 0;
  bool by_form = true;  ///< by the batched form, not by simulation
  /// 90 % interval of `iteration`; of the best, the neighbours, and told_of_front().
  std::optional<IterationInterval> interval = {};
  LimitsKept kept = LimitsKept::as_predicted;  ///< where there is an interval
  /// Time and cost grow with the iteration.
  [[nodiscard]] Seconds time_at(Seconds one) const { return one / iteration * time; }
  [[nodiscard]] double cost_at(Seconds one) const { return one / iteration * cost; }
  [[nodiscard]] double global_batch() const { return static_cast<double>(ranks) * batch; }
  int servers = 1;  ///< ranks or nodes that own parameters, where the exchange is by servers
};

/// One of the best, predicted in full as well.
struct CheckedTraining {
  PlannedTraining planned;    ///< by the batched form, where that holds
  PlannedTraining simulated;  ///< by the task graph
  std::string bound;          ///< what the iteration goes at the pace of
  std::vector<std::string> notes;
};

/// What changes if one choice of the best is made otherwise.
struct PlanNeighbour {
  std::string change;  ///< "batch 64 instead of 32"
  PlannedTraining planned;
  bool within_limits = true;
};

struct TrainingPlan {
  PlanQuestion question;
  Run run;  ///< with the choices of the best
  /// The best of each other first, by the simulation; ≥ 1.
  std::vector<CheckedTraining> best;
  /// Time against cost: no other is both quicker and cheaper. By time.
  std::vector<PlannedTraining> front;
  std::vector<PlanNeighbour> neighbours;
  std::size_t configurations = 0;  ///< asked for
  std::size_t within_limits = 0;
  std::size_t by_form = 0;
  std::size_t by_simulation = 0;
  std::vector<std::string> why_simulated;
  std::vector<std::string> left_out;  ///< by the memory
  std::vector<std::string> too_few;   ///< ranks for the servers
  /// Of a global batch: efficiency is over one rank with all of it, which the memory holds.
  bool over_all = false;
};

/// Places in a front, whose times ascend, of what is told of it to people: at most some twelve, the
/// ends and those between so that their times grow by as much.
std::vector<std::size_t> told_of_front(const std::vector<PlannedTraining>& front);

/// The best training of a question. Pure, as predict() is. Throws ConfigError as iteration_grid()
/// does, and where nothing keeps to the limits as predicted, naming the limit, by how much it is
/// missed, and the interval of what comes nearest.
TrainingPlan plan_training(const Network& network, const Machine& machine, const Run& run,
                           const PlanQuestion& question);

}  // namespace dlscale::model
