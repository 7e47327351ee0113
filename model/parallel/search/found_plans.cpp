#include "model/parallel/search/found_plans.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/goodput/parallel_plan.hpp"

namespace dlscale::model::parallel_search {
namespace {

constexpr std::size_t most_shown = 8;
/// Splits that are predicted, of which the best are shown: simulated pipelines change their order.
constexpr std::size_t most_predicted = 24;
constexpr std::size_t most_others = 2;  ///< of a choice whose values have no order
constexpr int most_rounds = 3;          ///< in which a neighbour may turn out the best
constexpr double worth_showing = 2;     ///< times over the quickest of plans in fronts

using Quantity = double (*)(const FoundPlan& plan);
double gpus_of(const FoundPlan& plan) {
  return plan.gpus;
}
double seconds_of(const FoundPlan& plan) {
  return plan.answered.answer.seconds();
}
double joules_of(const FoundPlan& plan) {
  return plan.joules;
}
/// High end of the memory of the rank that needs most.
double memory_of(const FoundPlan& plan) {
  const memory::RankMemory& memory = plan.answered.answer.memory;
  const int worst = memory.worst(memory::MemoryCounter::device).stage;
  return memory.peak(worst, memory::MemoryCounter::device).high;
}

void keep_shown(std::vector<FoundPlan>& plans) {
  while (plans.size() > most_shown) plans.pop_back();
}

/// At most `most_shown` of a list, evenly spread.
template <class Item>
std::vector<Item> spread(const std::vector<Item>& all) {
  if (all.size() <= most_shown) return all;
  std::vector<Item> some;
  for (std::size_t i = 0; i < most_shown; ++i) {
    some.push_back(all[i * (all.size() - 1) / (most_shown - 1)]);
  }
  return some;
}

/// Plans that no other beats in two quantities, by the first.
std::vector<FoundPlan> unbeaten(std::vector<FoundPlan> plans, Quantity first, Quantity second) {
  std::ranges::stable_sort(
      plans, {}, [=](const FoundPlan& one) { return std::pair(first(one), second(one)); });
  std::vector<FoundPlan> kept;
  for (FoundPlan& one : plans) {
    if (kept.empty() || second(one) < second(kept.back())) kept.push_back(std::move(one));
  }
  return kept;
}

/// The best splits that keep to the limits as predicted, too.
std::vector<FoundPlan> best_of(const FoundPlans& plans, const std::vector<PlanPoint>& splits) {
  std::vector<FoundPlan> best;
  for (const PlanPoint& point : splits) {
    if (best.size() == most_predicted) break;
    FoundPlan found = plans.predicted(point);
    if (plans.excess(found) <= 0) best.push_back(std::move(found));
  }
  std::ranges::stable_sort(best, {}, &FoundPlan::score);
  keep_shown(best);
  return best;
}

bool has_same_split(const FoundPlan& one, const FoundPlan& other) {
  const parallel::ParallelPlan& plan = one.answered.answer.plan;
  const parallel::ParallelPlan& beside = other.answered.answer.plan;
  return plan.tensor == beside.tensor && plan.context == beside.context &&
         plan.stages == beside.stages && plan.data == beside.data;
}

/// Puts a plan before all others, and in the place of that of its split.
void put_first(const FoundPlan& plan, std::vector<FoundPlan>& best) {
  std::erase_if(best, [&](const FoundPlan& one) { return has_same_split(one, plan); });
  best.insert(best.begin(), plan);
  keep_shown(best);
}

std::vector<int> unfit_gpus(const std::vector<int>& asked, const std::vector<PlanPoint>& splits) {
  std::set<int> fit;
  for (const PlanPoint& split : splits) fit.insert(split.gpus);
  std::vector<int> unfit;
  std::ranges::set_difference(asked, fit, std::back_inserter(unfit));
  return unfit;
}

std::vector<PlanNeighbour> neighbours_of(const FoundPlans& plans, const Reduction& found,
                                         const FoundPlan& best) {
  std::vector<PlanNeighbour> neighbours;
  for (int i = 0; i < choice_count; ++i) {
    const auto choice = static_cast<Choice>(i);
    if (choice == Choice::data) continue;  // it follows from the others
    const int own = value_of(choice, best.answered.answer.plan, best.framework);
    std::vector<ValueBest> others = found.by_value(choice);
    std::ranges::sort(others, {}, &ValueBest::value);
    const auto at = std::ranges::find(others, own, &ValueBest::value);
    const auto add = [&](const ValueBest& other) {
      neighbours.push_back({choice, plans.predicted(other.best)});
    };
    if (is_number(choice)) {
      if (at + 1 != others.end()) add(*(at + 1));
      if (at != others.begin()) add(*(at - 1));
      continue;
    }
    others.erase(at);
    std::ranges::sort(others, is_before, &ValueBest::best);
    if (choice != Choice::framework && others.size() > most_others) others.resize(most_others);
    std::ranges::for_each(others, add);
  }
  return neighbours;
}

/// Makes a plan the best that turns out better, since pipelines are simulated here and not in the
/// search. Returns whether it did.
bool improve(const FoundPlans& plans, const FoundPlan& other, std::vector<FoundPlan>& best) {
  if (other.score >= best.front().score || plans.excess(other) > 0) return false;
  put_first(other, best);
  return true;
}

void add_neighbours(const FoundPlans& plans, const Reduction& found, PlanSearch& search) {
  for (int round = 0; round < most_rounds; ++round) {
    search.neighbours = neighbours_of(plans, found, search.best.front());
    bool is_improved = false;
    for (const PlanNeighbour& one : search.neighbours) {
      is_improved |= improve(plans, one.plan, search.best);
    }
    if (!is_improved) return;
  }
  search.neighbours = neighbours_of(plans, found, search.best.front());
}

/// Plans to show of a front, which is not empty and has the quickest plan.
std::vector<FoundPlan> predicted_front(const FoundPlans& plans, std::vector<PlanPoint> front) {
  const double most = worth_showing * front.front().seconds;
  std::erase_if(front, [most](const PlanPoint& point) { return point.seconds > most; });
  std::vector<FoundPlan> shown;
  for (const PlanPoint& point : spread(front)) shown.push_back(plans.predicted(point));
  return shown;
}

/// Plans of both lists that none beats in time and `second`.
std::vector<FoundPlan> front_of(std::vector<FoundPlan> plans, const std::vector<FoundPlan>& best,
                                Quantity second) {
  plans.insert(plans.end(), best.begin(), best.end());
  return spread(unbeaten(std::move(plans), seconds_of, second));
}

/// The quickest with each number of GPUs, without those that fewer GPUs beat.
std::vector<FoundPlan> gpu_front(const FoundPlans& plans, const std::vector<PlanPoint>& splits,
                                 std::vector<FoundPlan> best) {
  std::map<int, const PlanPoint*> quickest;
  for (const PlanPoint& each : splits) {
    const PlanPoint*& known = quickest[each.gpus];
    const bool is_quicker = known == nullptr || each.seconds < known->seconds ||
                            (each.seconds == known->seconds && is_before(each, *known));
    if (is_quicker) known = &each;
  }
  for (const auto& [gpus, point] : quickest) best.push_back(plans.predicted(*point));
  return unbeaten(std::move(best), gpus_of, seconds_of);
}

std::optional<FoundNearest> nearest_of(const FoundPlans& plans,
                                       const std::optional<NearestPlan>& kept) {
  if (!kept) return {};
  return FoundNearest{plans.predicted(kept->point), kept->excess};
}

/// Fills the plan that comes nearest, where none is the best.
void fill_nearest(const FoundPlans& plans, const Reduction& found,
                  const std::vector<PlanPoint>& splits, PlanSearch& search) {
  search.nearest_limit = nearest_of(plans, found.nearest_limit());
  if (!splits.empty()) {  // within the limits by the closed form alone
    FoundPlan plan = plans.predicted(splits.front());
    const double excess = plans.excess(plan);
    search.nearest_limit = FoundNearest{std::move(plan), excess};
  }
  if (search.nearest_limit) {
    plans.add_whole(search.nearest_limit->plan);
  } else {
    search.nearest_fit = nearest_of(plans, found.nearest_fit());
  }
}

}  // namespace

FoundPlan FoundPlans::predicted(const PlanPoint& point) const {
  const FrameworkContext& framework = framework_of(point.framework);
  const SizedJob& job = framework.job(point.gpus);
  FoundPlan found{point.gpus,
                  point.framework,
                  {point.plan, job.hardware, job.setting,
                   parallel_time::predict_plan(*file_, framework.training, job.hardware,
                                               job.setting, point.plan)}};
  const parallel_time::ParallelAnswer& answer = found.answered.answer;
  found.joules = job.joules(answer.time, answer.sizes.micro_batches, answer.seconds());
  found.score = score_of(question().objective, point.gpus, answer.seconds(), found.joules);
  found.searched_s = point.seconds;
  return found;
}

void FoundPlans::add_whole(FoundPlan& found) const {
  if (!question().whole) return;
  goodput::CostQuestion cost = goodput::parallel_plan_question(
      *cluster_, framework_of(found.framework).training, found.answered.hardware,
      found.answered.answer, question().whole->tokens);
  cost.price_per_device_hour = question().whole->price;
  found.whole = goodput::training_cost(cost);
}

double FoundPlans::excess(const FoundPlan& found) const {
  if (!question().whole) return 0;
  return excess_of(*question().whole, framework_of(found.framework).job(found.gpus),
                   found.answered.answer.seconds());
}

void fill(const FoundPlans& plans, const Reduction& found, PlanSearch& search) {
  std::vector<PlanPoint> splits = found.of_splits();
  std::ranges::sort(splits, is_before);
  search.splits = splits.size();
  search.best = best_of(plans, splits);
  if (search.best.empty()) return fill_nearest(plans, found, splits, search);
  search.unfit = unfit_gpus(search.question.gpus, splits);
  const std::vector<FoundPlan> by_memory = predicted_front(plans, found.memory_front().points());
  const std::vector<FoundPlan> by_energy = predicted_front(plans, found.energy_front().points());
  for (const FoundPlan& one : by_memory) improve(plans, one, search.best);
  for (const FoundPlan& one : by_energy) improve(plans, one, search.best);
  add_neighbours(plans, found, search);
  const double high = search.best.front().answered.answer.high();
  search.alike = static_cast<std::size_t>(
      std::ranges::count_if(splits, [&](const PlanPoint& one) { return one.seconds <= high; }));
  search.alike -= search.alike > 0 ? 1 : 0;
  if (search.question.gpus.size() > 1) {
    search.gpu_front = gpu_front(plans, splits, search.best);
  } else {
    search.memory_front = front_of(by_memory, search.best, memory_of);
  }
  search.energy_front = front_of(by_energy, search.best, joules_of);
  for (std::vector<FoundPlan>* shown : {&search.best, &search.gpu_front}) {
    for (FoundPlan& one : *shown) plans.add_whole(one);
  }
}

}  // namespace dlscale::model::parallel_search
