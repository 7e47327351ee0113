#include "model/parallel/search/choice_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/parallel/plan.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/search/split.hpp"

namespace dlscale::model::parallel_search {
namespace {

using parallel::ParallelPlan;

/// An axis of ranks: its name, the values asked for, and the plan's number.
struct AskedAxis {
  std::string_view name;
  const std::vector<int>* values;
  int ParallelPlan::*ranks;
};

/// The first fault of a plan of these ranks alone; empty if it has none.
std::string fault_of(const SearchQuestion& question, const AskedAxis& axis, int value) {
  const auto goes = [&](int gpus) { return gpus % value == 0; };
  if (std::ranges::none_of(question.gpus, goes)) {
    return fmt::format("{} {} does not divide {} GPUs. Take a divisor.", axis.name, value,
                       question.gpus.back());
  }
  ParallelPlan plan;
  plan.*axis.ranks = value;
  if (axis.ranks == &ParallelPlan::experts) plan.data = value;  // experts are spread over data
  plan.micro_batch = 1;
  const auto layers = static_cast<int>(question.training.shape.layers);
  if (plan.stages <= layers) plan.stage_layers = balanced_layers(layers, plan.stages);
  const std::vector<std::string> faults =
      parallel::faults(plan, value, parallel_time::facts_of(question.training));
  return faults.empty() ? "" : faults.front();
}

}  // namespace

std::string choice_fault(const SearchQuestion& question) {
  const PlanChoices& choices = question.choices;
  const std::array<AskedAxis, 5> axes{{{"tensor", &choices.tensor, &ParallelPlan::tensor},
                                       {"context", &choices.context, &ParallelPlan::context},
                                       {"stages", &choices.stages, &ParallelPlan::stages},
                                       {"data", &choices.data, &ParallelPlan::data},
                                       {"experts", &choices.experts, &ParallelPlan::experts}}};
  for (const AskedAxis& axis : axes) {
    std::string first;
    const bool some_goes = std::ranges::any_of(*axis.values, [&](int value) {
      const std::string fault = fault_of(question, axis, value);
      if (first.empty()) first = fault;
      return fault.empty();
    });
    if (!axis.values->empty() && !some_goes) return first;
  }
  return {};
}

}  // namespace dlscale::model::parallel_search
