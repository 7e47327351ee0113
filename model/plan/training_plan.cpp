#include "model/plan/training_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/words.hpp"
#include "model/plan/missed_limits.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/predicted_iteration.hpp"
#include "model/sgd_iter/time_to_train.hpp"

namespace dlscale::model {
namespace {

constexpr double hour = 3600;
/// The most points of time against cost that are shown to people.
constexpr std::size_t most_told = 12;
/// Differences of this size are rounding.
constexpr double rounding = 1e-12;

class Planner {
 public:
  Planner(const Network& network, const Machine& machine, const Run& run,
          const PlanQuestion& question)
      : network_(&network),
        machine_(&machine),
        run_(run),
        question_(&question),
        grid_(iteration_grid(network, machine, run, question.space)),
        missed_(question) {}
  TrainingPlan find();

 private:
  [[nodiscard]] PlannedTraining planned(const PlanPlace& place, Seconds iteration) const;
  [[nodiscard]] bool over_all() const { return !std::isnan(grid_.alone_with_all); }
  [[nodiscard]] bool is_within(const PlannedTraining& planned) const;
  [[nodiscard]] bool keeps_at(const PlannedTraining& planned, Seconds iteration) const;
  [[nodiscard]] Run run_of(const PlannedTraining& planned) const;
  void add_interval(PlannedTraining& planned, const IterationInterval& of, Seconds total) const;
  void find_interval(PlannedTraining& planned);
  void add_intervals(PlannedTraining& planned, const UncertainIteration& iteration);
  void find_intervals(TrainingPlan& plan);
  [[nodiscard]] const UncertainIteration& alone_for(const PlannedTraining& planned);
  [[noreturn]] void refuse();
  [[nodiscard]] double key(const PlannedTraining& planned) const;
  [[nodiscard]] bool is_better(const PlannedTraining& one, const PlannedTraining& other) const;
  void look_at(const PlannedTraining& planned);
  void keep(const PlannedTraining& planned);
  void keep_of_ranks(const PlannedTraining& planned);
  [[nodiscard]] CheckedTraining checked(const PlannedTraining& planned);
  void check_best(TrainingPlan& plan);
  [[nodiscard]] std::vector<PlannedTraining> front() const;
  [[nodiscard]] std::vector<PlanNeighbour> neighbours(const PlanPlace& best) const;
  void add_other_shares(const PlanPlace& best, std::vector<PlanNeighbour>& neighbours) const;
  void add_neighbour(const PlanPlace& place, std::string change,
                     std::vector<PlanNeighbour>& neighbours) const;
  void find_bounds(const PlannedTraining& best, TrainingPlan& plan) const;
  [[nodiscard]] ChoiceBound ranks_bound(const PlannedTraining& best) const;
  [[nodiscard]] ChoiceBound batch_bound(const PlannedTraining& best) const;

  const Network* network_;
  const Machine* machine_;
  Run run_;
  const PlanQuestion* question_;
  IterationGrid grid_;
  std::vector<PlannedTraining> best_;        ///< by key
  std::vector<PlannedTraining> quickest_;    ///< by number of ranks; within all limits
  std::optional<PlannedTraining> beyond_;    ///< the best of those that exceed a limit
  std::map<int, UncertainIteration> alone_;  ///< of one rank, by batch
  MissedLimits missed_;
  std::size_t within_ = 0;
};

PlannedTraining Planner::planned(const PlanPlace& place, Seconds iteration) const {
  const PlanSpace& space = grid_.space;
  PlannedTraining one;
  one.place = place;
  one.exchange = space.exchanges[place.exchange];
  one.ranks = space.ranks[place.rank];
  one.batch = space.batches[place.batch];
  one.servers = servers_on(one.exchange, {one.ranks, run_.ranks_per_node});
  one.iteration = iteration;
  one.epochs = question_->length.epochs_at(one.global_batch());
  const double iterations = one.epochs * question_->length.samples / one.global_batch();
  one.time = iterations * iteration;
  one.rank_hours = one.ranks * one.time.si() / hour;
  one.cost = one.rank_hours * question_->price.value_or(1);
  one.images_per_s = one.global_batch() / iteration.si();
  one.efficiency =
      (over_all() ? grid_.alone_with_all / one.ranks : grid_.alone[place.batch]) / iteration.si();
  one.by_form = !grid_.simulated[grid_.index(place)];
  return one;
}

bool Planner::is_within(const PlannedTraining& planned) const {
  const PlanLimits& limits = question_->limits;
  return (!limits.time || planned.time <= *limits.time) &&
         (!limits.budget || planned.cost <= *limits.budget) &&
         (!limits.global_batch || planned.global_batch() <= *limits.global_batch);
}

/// Whether it keeps to the limits if its iteration takes `iteration`.
bool Planner::keeps_at(const PlannedTraining& planned, Seconds iteration) const {
  PlannedTraining other = planned;
  other.time = planned.time_at(iteration);
  other.cost = planned.cost_at(iteration);
  return is_within(other);
}

Run Planner::run_of(const PlannedTraining& planned) const {
  Run run = run_;
  run.ranks = planned.ranks;
  run.batch = planned.batch;
  apply(planned.exchange, run);
  return run;
}

/// Scales the interval of an iteration that takes `total` to this training.
void Planner::add_interval(PlannedTraining& planned, const IterationInterval& of,
                           Seconds total) const {
  const double ratio = planned.iteration / total;
  const IterationInterval interval{ratio * of.low, ratio * of.high};
  planned.interval = interval;
  if (keeps_at(planned, interval.high)) {
    planned.kept = LimitsKept::throughout;
  } else if (is_within(planned)) {
    planned.kept = LimitsKept::as_predicted;
  } else if (keeps_at(planned, interval.low)) {
    planned.kept = LimitsKept::at_quick_end;
  } else {
    planned.kept = LimitsKept::not_at_all;
  }
}

/// The iteration of one rank that the efficiency is over.
const UncertainIteration& Planner::alone_for(const PlannedTraining& planned) {
  Run run = run_;
  run.ranks = 1;
  run.batch = over_all() ? static_cast<int>(*grid_.space.global_batch) : planned.batch;
  apply(Exchange{}, run);
  const auto known = alone_.find(run.batch);
  if (known != alone_.end()) return known->second;
  return alone_.emplace(run.batch, uncertain_iteration(*network_, *machine_, run)).first->second;
}

void Planner::find_interval(PlannedTraining& planned) {
  add_intervals(planned, uncertain_iteration(*network_, *machine_, run_of(planned)));
}

/// Adds the intervals of its time and efficiency.
void Planner::add_intervals(PlannedTraining& planned, const UncertainIteration& iteration) {
  add_interval(planned, iteration.interval(), iteration.value());
  if (std::isnan(planned.efficiency)) return;  // the memory of one rank does not hold its batch
  const auto [low, high] = relative_speedup(iteration, alone_for(planned));
  const double most = std::max(planned.efficiency, 1.0);
  planned.efficiency_interval = {low * planned.efficiency,
                                 std::min(high * planned.efficiency, most)};
}

/// Adds intervals to all trainings that are shown to people and have none.
void Planner::find_intervals(TrainingPlan& plan) {
  for (const std::size_t place : told_of_front(plan.front)) find_interval(plan.front[place]);
  for (PlanNeighbour& one : plan.neighbours) find_interval(one.planned);
}

/// Throws if no training keeps to the limits as predicted, with the interval of the nearest.
void Planner::refuse() {
  if (PlannedTraining* near = missed_.nearest()) find_interval(*near);
  throw ConfigError(missed_.sentence(grid_.left_out, grid_.too_few));
}

/// The value to minimise.
double Planner::key(const PlannedTraining& planned) const {
  switch (question_->objective) {
    case Objective::time:
      return planned.time.si();
    case Objective::cost:
      return planned.cost;
    case Objective::efficiency:
      return 1 / planned.efficiency;
  }
  fail_expectation("objective is an Objective");
}

bool Planner::is_better(const PlannedTraining& one, const PlannedTraining& other) const {
  const bool by_time = question_->objective == Objective::time;
  const auto second = [&](const PlannedTraining& planned) {
    return by_time ? planned.cost : planned.time.si();
  };
  for (const auto& [mine, theirs] :
       {std::pair(key(one), key(other)), std::pair(second(one), second(other))}) {
    if (mine < theirs * (1 - rounding)) return true;
    if (theirs < mine * (1 - rounding)) return false;
  }
  const auto simplicity = [](const PlannedTraining& planned) {
    return std::tuple(planned.ranks, planned.batch, planned.place.exchange);
  };
  return simplicity(one) < simplicity(other);
}

/// Keeps only the simplest of exchanges that make no difference, which comes first.
void Planner::keep(const PlannedTraining& planned) {
  const bool full = best_.size() >= question_->checked;
  if (full && !is_better(planned, best_.back())) return;
  const auto same = [&](const PlannedTraining& other) {
    return planned.ranks == other.ranks && planned.batch == other.batch &&
           key(planned) >= key(other) * (1 - rounding) &&
           key(planned) <= key(other) * (1 + rounding);
  };
  if (std::ranges::any_of(best_, same)) return;
  const auto place = std::ranges::find_if(
      best_, [&](const PlannedTraining& other) { return is_better(planned, other); });
  best_.insert(place, planned);
  if (best_.size() > question_->checked) best_.pop_back();
}

/// Keeps the fastest of its number of ranks, which is also the cheapest.
void Planner::keep_of_ranks(const PlannedTraining& planned) {
  PlannedTraining& other = quickest_[planned.place.rank];
  const bool is_first = other.time == Seconds();
  const bool as_quick = planned.time < (1 + rounding) * other.time;
  const bool quicker = planned.time < (1 - rounding) * other.time;
  if (is_first || quicker || (as_quick && planned.batch < other.batch)) other = planned;
}

void Planner::look_at(const PlannedTraining& planned) {
  missed_.look_at(planned);
  if (!is_within(planned)) {
    if (!beyond_ || is_better(planned, *beyond_)) beyond_ = planned;
    return;
  }
  ++within_;
  keep(planned);
  keep_of_ranks(planned);
}

std::vector<PlannedTraining> Planner::front() const {
  std::vector<PlannedTraining> points;
  for (const PlannedTraining& one : quickest_) {
    if (one.time > Seconds()) points.push_back(one);
  }
  std::ranges::stable_sort(points, {}, &PlannedTraining::time);
  std::vector<PlannedTraining> front;
  for (const PlannedTraining& one : points) {
    if (front.empty() || one.cost < front.back().cost * (1 - rounding)) front.push_back(one);
  }
  return front;
}

/// Predicts the training by simulation.
CheckedTraining Planner::checked(const PlannedTraining& planned_one) {
  const auto [prediction, iteration] =
      predict_iteration(*network_, *machine_, run_of(planned_one), RankSpread{});
  CheckedTraining result;
  result.planned = planned_one;
  result.bound = prediction.bound;
  result.notes = prediction.notes;
  result.simulated = planned(planned_one.place, prediction.time.total);
  add_intervals(result.simulated, iteration);
  return result;
}

void Planner::check_best(TrainingPlan& plan) {
  for (const PlannedTraining& one : best_) plan.best.push_back(checked(one));
  std::ranges::stable_sort(plan.best, [&](const CheckedTraining& a, const CheckedTraining& b) {
    return key(a.simulated) < key(b.simulated) * (1 - rounding);
  });
}

void Planner::add_neighbour(const PlanPlace& place, std::string change,
                            std::vector<PlanNeighbour>& neighbours) const {
  const double iteration = grid_.at(place);
  if (std::isnan(iteration)) return;  // not possible; see left_out
  const PlannedTraining one = planned(place, Seconds(iteration));
  neighbours.push_back({std::move(change), one, is_within(one)});
}

/// Adds the next numbers of ranks, with their shares of the global batch.
void Planner::add_other_shares(const PlanPlace& best,
                               std::vector<PlanNeighbour>& neighbours) const {
  const PlanSpace& space = grid_.space;
  for (const std::size_t next : {best.rank - 1, best.rank + 1}) {
    if (next >= space.ranks.size()) continue;  // the index before 0 wraps around
    PlanPlace place = best;
    place.rank = next;
    const auto share = std::ranges::find_if(
        space.batches, [&](int batch) { return space.has(space.ranks[next], batch); });
    place.batch = static_cast<std::size_t>(share - space.batches.begin());
    add_neighbour(place,
                  fmt::format("ranks {} (batch {}) instead of {}", space.ranks[next], *share,
                              space.ranks[best.rank]),
                  neighbours);
  }
}

/// The next smaller and larger value of each number, and every other exchange.
std::vector<PlanNeighbour> Planner::neighbours(const PlanPlace& best) const {
  const PlanSpace& space = grid_.space;
  std::vector<PlanNeighbour> result;
  const auto step = [&](std::size_t PlanPlace::*axis, const std::vector<int>& values,
                        std::string_view name) {
    for (const std::size_t next : {best.*axis - 1, best.*axis + 1}) {
      if (next >= values.size()) continue;  // the index before 0 wraps around
      PlanPlace place = best;
      place.*axis = next;
      add_neighbour(place,
                    fmt::format("{} {} instead of {}", name, values[next], values[best.*axis]),
                    result);
    }
  };
  if (space.global_batch) {
    add_other_shares(best, result);
  } else {
    step(&PlanPlace::rank, space.ranks, "ranks");
    step(&PlanPlace::batch, space.batches, "batch");
  }
  for (std::size_t e = 0; e < space.exchanges.size(); ++e) {
    if (e == best.exchange) continue;
    PlanPlace place = best;
    place.exchange = e;
    add_neighbour(place,
                  fmt::format("{} instead of {}", exchange_text(space.exchanges[e]),
                              exchange_text(space.exchanges[best.exchange])),
                  result);
  }
  return result;
}

ChoiceBound Planner::ranks_bound(const PlannedTraining& best) const {
  const int shared = grid_.space.ranks.back();
  const int most = std::max(shared, question_->most_ranks);
  if (best.ranks == most) {
    return most == question_->cluster_ranks ? ChoiceBound::cluster : ChoiceBound::asked;
  }
  return best.ranks == shared ? ChoiceBound::shares : ChoiceBound::objective;
}

ChoiceBound Planner::batch_bound(const PlannedTraining& best) const {
  if (grid_.space.global_batch) return ChoiceBound::shares;
  if (best.batch == grid_.space.batches.back()) return ChoiceBound::asked;
  PlanPlace larger = best.place;
  ++larger.batch;
  return std::isnan(grid_.at(larger)) ? ChoiceBound::memory : ChoiceBound::objective;
}

void Planner::find_bounds(const PlannedTraining& best, TrainingPlan& plan) const {
  plan.ranks_bound = ranks_bound(best);
  plan.batch_bound = batch_bound(best);
  if (!beyond_ || !is_better(*beyond_, best)) return;
  plan.beyond_limits = beyond_;
  if (beyond_->ranks != best.ranks) {
    plan.ranks_bound = ChoiceBound::limits;
  } else if (beyond_->batch != best.batch) {
    plan.batch_bound = ChoiceBound::limits;
  }
}

TrainingPlan Planner::find() {
  const PlanSpace& space = grid_.space;
  quickest_.resize(space.ranks.size());
  PlanPlace place;
  for (place.exchange = 0; place.exchange < space.exchanges.size(); ++place.exchange) {
    for (place.batch = 0; place.batch < space.batches.size(); ++place.batch) {
      for (place.rank = 0; place.rank < space.ranks.size(); ++place.rank) {
        const double iteration = grid_.at(place);
        if (!std::isnan(iteration)) look_at(planned(place, Seconds(iteration)));
      }
    }
  }
  if (within_ == 0) refuse();
  TrainingPlan plan;
  plan.samples = network_->samples();
  plan.question = *question_;
  check_best(plan);
  plan.run = run_;
  const PlannedTraining& best = plan.best.front().simulated;
  plan.run.ranks = best.ranks;
  plan.run.batch = best.batch;
  apply(best.exchange, plan.run);
  plan.front = front();
  plan.neighbours = neighbours(best.place);
  find_bounds(best, plan);
  find_intervals(plan);
  plan.configurations = space.size();
  plan.within_limits = within_;
  plan.by_form = grid_.by_form;
  plan.by_simulation = grid_.by_simulation;
  plan.why_simulated.assign(grid_.why_simulated.begin(), grid_.why_simulated.end());
  plan.left_out = grid_.left_out;
  plan.too_few = grid_.too_few;
  plan.over_all = over_all();
  return plan;
}

void expect_question(const PlanQuestion& question) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  EXPECT(positive(question.length.epochs) && positive(question.length.samples));
  EXPECT(!question.length.critical_batch || positive(*question.length.critical_batch));
  EXPECT(!question.price || positive(*question.price));
  EXPECT(question.checked >= 1);
}

}  // namespace

double TrainingLength::epochs_at(double global_batch) const {
  if (!critical_batch) return epochs;
  return epochs_to_target({epochs, *critical_batch, 0, 0}, global_batch);
}

std::string_view objective_name(Objective objective) {
  switch (objective) {
    case Objective::time:
      return "time";
    case Objective::cost:
      return "cost";
    case Objective::efficiency:
      return "efficiency";
  }
  fail_expectation("objective is an Objective");
}

Objective parse_objective(std::string_view name) {
  return parse_word("thing to plan for", name, all_objectives, objective_name);
}

std::string_view choice_bound_name(ChoiceBound bound) {
  switch (bound) {
    case ChoiceBound::objective:
      return "objective";
    case ChoiceBound::asked:
      return "asked";
    case ChoiceBound::cluster:
      return "cluster";
    case ChoiceBound::shares:
      return "shares";
    case ChoiceBound::memory:
      return "memory";
    case ChoiceBound::limits:
      return "limits";
  }
  fail_expectation("bound is a ChoiceBound");
}

std::string_view limits_kept_name(LimitsKept kept) {
  switch (kept) {
    case LimitsKept::throughout:
      return "throughout";
    case LimitsKept::as_predicted:
      return "as predicted";
    case LimitsKept::at_quick_end:
      return "at the quick end";
    case LimitsKept::not_at_all:
      return "not at all";
  }
  fail_expectation("kept is a LimitsKept");
}

std::vector<std::size_t> told_of_front(const std::vector<PlannedTraining>& front) {
  std::vector<std::size_t> places;
  if (front.empty()) return places;
  const bool all = front.size() <= most_told;
  const double first = std::log(front.front().time.si());
  const double last = std::log(front.back().time.si());
  for (std::size_t i = 0; i < front.size(); ++i) {
    const double due = static_cast<double>(places.size()) / static_cast<double>(most_told - 1);
    const double share = all ? 1 : (std::log(front[i].time.si()) - first) / (last - first);
    if (share >= due) places.push_back(i);
  }
  if (places.back() + 1 != front.size()) places.push_back(front.size() - 1);
  return places;
}

TrainingPlan plan_training(const Network& network, const Machine& machine, const Run& run,
                           const PlanQuestion& question) {
  expect_question(question);
  return Planner(network, machine, run, question).find();
}

}  // namespace dlscale::model
