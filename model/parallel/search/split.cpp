#include "model/parallel/search/split.hpp"

#include <algorithm>

namespace dlscale::model::parallel_search {
namespace {

/// Whether the network and its batch can be split so, whatever else the plan has.
bool is_possible(const SearchQuestion& question, const Split& split) {
  parallel::ParallelPlan plan;
  plan.tensor = split.tensor;
  plan.context = split.context;
  plan.stages = split.stages;
  plan.data = split.data;
  plan.micro_batch = 1;
  plan.stage_layers =
      balanced_layers(static_cast<int>(question.training.shape.layers), split.stages);
  return parallel::faults(plan, split.gpus, parallel_time::facts_of(question.training)).empty();
}

void add_stages(const SearchQuestion& question, Split split, std::vector<Split>& found) {
  const int left = split.gpus / split.tensor / split.context;
  for (const int stages : divisors(left)) {
    split.stages = stages;
    split.data = left / stages;
    if (stages > question.training.shape.layers || !is_allowed(stages, question.choices.stages) ||
        !is_allowed(split.data, question.choices.data)) {
      continue;
    }
    if (is_possible(question, split)) found.push_back(split);
  }
}

bool names_schedule(const std::vector<std::string>& schedules, const std::string& name) {
  return schedules.empty() || std::ranges::find(schedules, name) != schedules.end();
}

}  // namespace

std::vector<int> divisors(std::int64_t number) {
  std::vector<int> found;
  for (std::int64_t one = 1; one * one <= number; ++one) {
    if (number % one != 0) continue;
    found.push_back(static_cast<int>(one));
    if (one != number / one) found.push_back(static_cast<int>(number / one));
  }
  std::ranges::sort(found);
  return found;
}

bool is_allowed(int value, const std::vector<int>& values) {
  return values.empty() || std::ranges::find(values, value) != values.end();
}

std::vector<Split> splits(const SearchQuestion& question, int gpus, int node_gpus) {
  const memory::TransformerShape& shape = question.training.shape;
  std::vector<Split> found;
  for (const int tensor : divisors(gpus)) {
    if (shape.heads % tensor != 0 || !is_allowed(tensor, question.choices.tensor)) continue;
    if (question.choices.tensor.empty() && tensor > node_gpus) continue;
    for (const int context : divisors(gpus / tensor)) {
      if (shape.sequence % context != 0 || !is_allowed(context, question.choices.context)) continue;
      add_stages(question, {.gpus = gpus, .tensor = tensor, .context = context}, found);
    }
  }
  return found;
}

std::vector<int> balanced_layers(int layers, int stages) {
  if (layers % stages == 0) return {};
  std::vector<int> of_stages(static_cast<std::size_t>(stages), layers / stages);
  const int more = layers % stages;  // stages with one layer more: the last but one, and before it
  const int last = std::max(stages - 2, more - 1);
  for (int stage = last; stage > last - more; --stage) ++of_stages[static_cast<std::size_t>(stage)];
  return of_stages;
}

std::vector<Pipeline> pipelines(const SearchQuestion& question, const Split& split) {
  const PlanChoices& choices = question.choices;
  const int layers = static_cast<int>(question.training.shape.layers);
  const std::vector<int> uneven = balanced_layers(layers, split.stages);
  std::vector<Pipeline> found;
  if (is_allowed(1, choices.chunks)) {
    for (const char* name : {"1f1b", "zero_bubble", "gpipe"}) {
      if (split.stages == 1 && std::string_view(name) != "1f1b") continue;
      if (split.stages == 1 || names_schedule(choices.schedules, name))
        found.push_back({name, 1, uneven});
    }
  }
  if (split.stages == 1 || !uneven.empty() || !names_schedule(choices.schedules, "interleaved"))
    return found;
  for (const int chunks : divisors(layers / split.stages)) {
    if (chunks > 1 && is_allowed(chunks, choices.chunks)) {
      found.push_back({"interleaved", chunks, {}});
    }
  }
  return found;
}

std::vector<Sharding> shardings(const SearchQuestion& question, const Split& split) {
  const PlanChoices& choices = question.choices;
  const int replicas = split.data * split.context;
  std::vector<Sharding> found;
  for (int zero = 0; zero <= 3; ++zero) {
    if (!is_allowed(zero, choices.zero) || (zero > 0 && replicas == 1)) continue;
    const bool names_all = !choices.zero_group.empty() && is_allowed(replicas, choices.zero_group);
    if (is_allowed(0, choices.zero_group) || (zero > 0 && names_all)) found.push_back({zero, 0});
    if (zero == 0) continue;
    for (const int group : divisors(replicas)) {
      if (group == 1 || group == replicas || !is_allowed(group, choices.zero_group)) continue;
      found.push_back({zero, group});
    }
  }
  return found;
}

std::vector<int> expert_groups(const SearchQuestion& question, const Split& split) {
  const auto& experts = question.training.shape.experts;
  std::vector<int> groups = divisors(experts ? experts->count : 1);
  std::erase_if(groups, [&](int group) {
    return split.data * split.context % group != 0 || !is_allowed(group, question.choices.experts);
  });
  return groups;
}

std::vector<int> micro_batches(const SearchQuestion& question, const Split& split) {
  std::vector<int> sizes = divisors(question.training.global_batch / split.data);
  std::erase_if(sizes, [&](int size) { return !is_allowed(size, question.choices.micro_batch); });
  return sizes;
}

double most_plans(const SearchQuestion& question, const Split& split) {
  const PlanChoices& choices = question.choices;
  const std::size_t cuts = split.tensor > 1 && choices.sequence_parallel.size() != 1 ? 2 : 1;
  const std::size_t recomputes =
      choices.recompute.empty() ? parallel::all_recomputes.size() : choices.recompute.size();
  double plans = 1;
  for (const std::size_t number :
       {question.frameworks.size(), expert_groups(question, split).size(),
        micro_batches(question, split).size(), cuts, recomputes, shardings(question, split).size(),
        pipelines(question, split).size()}) {
    plans *= static_cast<double>(number);
  }
  return plans;
}

}  // namespace dlscale::model::parallel_search
