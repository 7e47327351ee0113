#include "model/parallel/search/found_plans.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <vector>

#include "model/goodput/parallel_plan.hpp"

namespace dlscale::model::parallel_search {
namespace {

constexpr std::size_t most_shown = 8;
constexpr std::size_t most_others = 2;  ///< of a choice whose values have no order
constexpr double worth_showing = 2;     ///< times over the quickest of plans in fronts

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

/// Plans to show of a front, which is not empty and has the quickest plan.
std::vector<FoundPlan> predicted_front(const FoundPlans& plans, std::vector<PlanPoint> front) {
  const double most = worth_showing * front.front().seconds;
  std::erase_if(front, [most](const PlanPoint& point) { return point.seconds > most; });
  std::vector<FoundPlan> shown;
  for (const PlanPoint& point : spread(front)) shown.push_back(plans.predicted(point));
  return shown;
}

/// The quickest with each number of GPUs, without those that fewer GPUs beat.
std::vector<FoundPlan> gpu_front(const FoundPlans& plans, const std::vector<PlanPoint>& splits) {
  std::map<int, const PlanPoint*> quickest;
  for (const PlanPoint& each : splits) {
    const PlanPoint*& known = quickest[each.gpus];
    const bool is_quicker = known == nullptr || each.seconds < known->seconds ||
                            (each.seconds == known->seconds && is_before(each, *known));
    if (is_quicker) known = &each;
  }
  std::vector<FoundPlan> front;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [gpus, point] : quickest) {
    if (point->seconds >= least) continue;
    least = point->seconds;
    front.push_back(plans.predicted(*point));
  }
  return front;
}

std::optional<FoundNearest> nearest_of(const FoundPlans& plans,
                                       const std::optional<NearestPlan>& kept) {
  if (!kept) return {};
  return FoundNearest{plans.predicted(kept->point), kept->excess};
}

/// Fills the plan that comes nearest, where none is the best.
void fill_nearest(const FoundPlans& plans, const Reduction& found, PlanSearch& search) {
  search.nearest_limit = nearest_of(plans, found.nearest_limit());
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
  parallel::ParallelPlan plan = point.plan;
  if (parallel_time::overlaps_tensor(*job.setting.family, plan)) plan.tensor_overlap = true;
  FoundPlan found{
      point.gpus,
      point.framework,
      {plan, job.hardware, job.setting,
       parallel_time::predict_plan(*file_, framework.training, job.hardware, job.setting, plan)}};
  const parallel_time::ParallelAnswer& answer = found.answered.answer;
  found.joules = job.joules(answer.time, answer.sizes.micro_batches, answer.seconds());
  found.score = point.score;
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

void fill(const FoundPlans& plans, const Reduction& found, PlanSearch& search) {
  std::vector<PlanPoint> splits = found.of_splits();
  if (splits.empty()) return fill_nearest(plans, found, search);
  std::ranges::sort(splits, is_before);
  search.splits = splits.size();
  for (const PlanPoint& point : splits | std::views::take(most_shown)) {
    search.best.push_back(plans.predicted(point));
  }
  search.unfit = unfit_gpus(search.question.gpus, splits);
  search.neighbours = neighbours_of(plans, found, search.best.front());
  const double most = (1 + close_share) * splits.front().score;
  const auto within =
      std::ranges::count_if(splits, [most](const PlanPoint& one) { return one.score <= most; });
  search.close = static_cast<std::size_t>(within) - 1;  // the best itself
  if (search.question.gpus.size() > 1) {
    search.gpu_front = gpu_front(plans, splits);
  } else {
    search.memory_front = predicted_front(plans, found.memory_front().points());
  }
  search.energy_front = predicted_front(plans, found.energy_front().points());
  for (std::vector<FoundPlan>* shown : {&search.best, &search.gpu_front}) {
    for (FoundPlan& one : *shown) plans.add_whole(one);
  }
}

}  // namespace dlscale::model::parallel_search
