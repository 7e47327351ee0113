#include "report/score/choice_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "model/published/parallel/training.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

/// A measured plan with its prediction, in seconds or in the inverse of the rate: only ratios
/// count.
struct TimedPlan {
  std::string id;
  double measured = 0;
  std::optional<double> predicted = {};
};

std::string training_of(const cases::ScalingCase& one) {
  return fmt::format("{} of {} tokens, {} {}, {}, batch {:g}", one.network.name,
                     one.network.seq.value_or(0), one.gpus, one.cluster.gpu, one.precision,
                     one.global_batch);
}

TimedPlan timed_plan(const JudgedCase& judged) {
  const JudgedItem& item = judged.items.front();
  const bool is_rate = judged.unit == cases::CaseUnit::samples_per_s;
  TimedPlan plan{judged.id, is_rate ? 1 / item.measured : item.measured, {}};
  if (item.predicted) plan.predicted = is_rate ? 1 / *item.predicted : *item.predicted;
  return plan;
}

/// Absent if no plan has a prediction.
std::optional<PlanChoice> choice_among(const std::vector<TimedPlan>& plans) {
  const TimedPlan* chosen = nullptr;
  const TimedPlan* best = &plans.front();
  for (const TimedPlan& plan : plans) {
    if (plan.measured < best->measured) best = &plan;
    if (plan.predicted && (chosen == nullptr || *plan.predicted < *chosen->predicted)) {
      chosen = &plan;
    }
  }
  if (chosen == nullptr) return std::nullopt;
  PlanChoice choice;
  choice.plans = plans.size();
  choice.chosen = chosen->id;
  choice.best = best->id;
  choice.loss = chosen->measured / best->measured - 1;
  return choice;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::vector<PlanChoice> plan_choices(const cases::CaseFile& file,
                                     std::span<const JudgedCase> judged) {
  std::map<std::string, const JudgedCase*> by_id;
  for (const JudgedCase& one : judged) by_id.emplace(one.id, &one);
  std::map<std::pair<std::string, std::string>, std::vector<TimedPlan>> groups;
  for (const cases::ScalingCase& one : file.trainings) {
    const auto found = by_id.find(one.id);
    if (found == by_id.end() || found->second->items.empty()) continue;
    if (!model::parallel_time::goes_beyond_data_parallelism(one)) continue;
    groups[{one.set, training_of(one)}].push_back(timed_plan(*found->second));
  }
  std::vector<PlanChoice> choices;
  for (const auto& [of, plans] : groups) {
    if (plans.size() < 2) continue;
    std::optional<PlanChoice> choice = choice_among(plans);
    if (!choice) continue;
    choice->set = of.first;
    choice->training = of.second;
    choices.push_back(std::move(*choice));
  }
  return choices;
}

std::vector<ChoiceScore> choice_scores(std::span<const PlanChoice> choices) {
  std::map<std::string, std::vector<const PlanChoice*>> sets;
  for (const PlanChoice& choice : choices) sets[choice.set].push_back(&choice);
  std::vector<ChoiceScore> scores;
  for (const auto& [set, all] : sets) {
    ChoiceScore score{set, all.size()};
    std::vector<double> losses;
    for (const PlanChoice* choice : all) {
      score.plans += choice->plans;
      if (choice->chosen == choice->best) ++score.right;
      losses.push_back(choice->loss);
      score.mean_loss += choice->loss / static_cast<double>(all.size());
      score.greatest_loss = std::max(score.greatest_loss, choice->loss);
    }
    score.median_loss = median_of(std::move(losses));
    scores.push_back(std::move(score));
  }
  return scores;
}

Table choice_table(const std::vector<ChoiceScore>& scores) {
  using F = Field<ChoiceScore>;
  const Fields<ChoiceScore> fields{
      F::table("set", &ChoiceScore::set, as::words),
      F::table("trainings", &ChoiceScore::trainings, as::exact),
      F::table("plans", &ChoiceScore::plans, as::exact),
      F::table("best chosen", &ChoiceScore::right, as::exact),
      F::table("median loss", &ChoiceScore::median_loss, as::percent),
      F::table("mean loss", &ChoiceScore::mean_loss, as::percent),
      F::table("greatest loss", &ChoiceScore::greatest_loss, as::percent),
  };
  Table table = table_of(fields, scores);
  table.title = "Choice among measured plans";
  table.notes.emplace_back(
      "trainings: same network, length, GPUs, precision and global batch, with two plans or more");
  table.notes.emplace_back(
      "loss: measured time of the plan that is predicted to be the quickest, over the least "
      "measured one");
  return table;
}

}  // namespace dlscale::report
