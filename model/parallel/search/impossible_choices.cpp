#include "model/parallel/search/impossible_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::model::parallel_search {
namespace {

using parallel::ParallelPlan;
using parallel::Recompute;

constexpr int most_tried = 100'000;  ///< plans: a fraction of a second
constexpr int most_compared = 2'000;

/// A plan on its GPUs by a framework of the context.
struct Candidate {
  int gpus = 1;
  std::size_t framework = 0;
  ParallelPlan plan = {};
};

/// Returns whether to stop.
using Visit = std::function<bool(const Candidate&)>;

/// Visits plans that choices allow and that can be, as SplitSearch does, but for memory.
class PossiblePlans {
 public:
  PossiblePlans(const SearchContext& context, int node_gpus, const PlanChoices& choices)
      : context_(&context), node_gpus_(node_gpus), question_(*context.question) {
    question_.choices = choices;
  }

  /// Ends when `visit` says so, or after most_tried plans.
  void each(const Visit& visit) {
    for (const int gpus : question_.gpus) {
      for (const Split& split : splits(question_, gpus, node_gpus_)) {
        if (visit_split(split, visit)) return;
      }
    }
  }

 private:
  bool visit_split(const Split& split, const Visit& visit) {
    Candidate at{.gpus = split.gpus};
    at.plan.tensor = split.tensor;
    at.plan.context = split.context;
    at.plan.stages = split.stages;
    at.plan.data = split.data;
    for (; at.framework < context_->frameworks.size(); ++at.framework) {
      for (const int experts : expert_groups(question_, split)) {
        at.plan.experts = experts;
        for (const int micro_batch : micro_batches(question_, split)) {
          at.plan.micro_batch = micro_batch;
          if (visit_tokens(split, at, visit)) return true;
        }
      }
    }
    return false;
  }

  bool visit_tokens(const Split& split, Candidate& at, const Visit& visit) {
    for (const bool cut : {false, true}) {
      if ((cut && split.tensor == 1) || !is_allowed(cut, question_.choices.sequence_parallel)) {
        continue;
      }
      at.plan.sequence_parallel = cut;
      if (!choose_overlap(at)) continue;
      for (const Pipeline& pipeline : pipelines(question_, split)) {
        at.plan.schedule = pipeline.schedule;
        at.plan.chunks = pipeline.chunks;
        at.plan.stage_layers = pipeline.stage_layers;
        at.plan.zero = 0;
        at.plan.zero_group.reset();
        at.plan.recompute = Recompute::none;
        at.plan.recompute_layers = 0;
        if (++tried_ > most_tried) return true;
        if (!parallel::faults(at.plan, at.gpus, context_->facts).empty()) continue;
        if (visit_states(split, at, visit)) return true;
      }
    }
    return false;
  }

  bool visit_states(const Split& split, Candidate& at, const Visit& visit) {
    for (const Sharding& sharding : shardings(question_, split)) {
      at.plan.zero = sharding.zero;
      at.plan.zero_group.reset();
      if (sharding.group > 0) at.plan.zero_group = sharding.group;
      for (const Recompute recompute : parallel::all_recomputes) {
        const std::vector<Recompute>& allowed = question_.choices.recompute;
        if (!allowed.empty() && std::ranges::find(allowed, recompute) == allowed.end()) continue;
        at.plan.recompute = recompute;
        at.plan.recompute_layers = recompute == Recompute::block ? 1 : 0;
        if (++tried_ > most_tried) return true;
        const FrameworkWays* const ways = context_->frameworks[at.framework].ways;
        if (ways != nullptr && !ways->runs(at.plan)) continue;
        if (visit(at)) return true;
      }
    }
    return false;
  }

  /// Whether the choices allow what the framework can do with these messages, and compile.
  bool choose_overlap(Candidate& at) const {
    using parallel_time::Compiling;
    const parallel_time::Family& family =
        *context_->frameworks[at.framework].jobs.front().setting.family;
    const std::vector<int>& compile = question_.choices.compile;
    at.plan.compile.reset();
    if (family.compiling == Compiling::on_request) {
      at.plan.compile = is_allowed(1, compile);
    } else if (!is_allowed(family.compiling == Compiling::always ? 1 : 0, compile)) {
      return false;
    }
    at.plan.tensor_overlap.reset();
    if (is_allowed(0, question_.choices.tensor_overlap)) return true;
    at.plan.tensor_overlap = true;
    return parallel_time::overlaps_tensor(family, at.plan);
  }

  const SearchContext* context_;
  int node_gpus_;
  SearchQuestion question_;
  int tried_ = 0;
};

/// A key of choices.
struct ChoiceKey {
  /// Takes over its values; returns whether there are some.
  bool (*take)(const PlanChoices& from, PlanChoices& to);
  /// Gives a plan the first of its values, and what follows from it.
  void (*set)(const PlanChoices& choices, const SearchQuestion& question, Candidate& at);
};

template <auto member>
bool take(const PlanChoices& from, PlanChoices& to) {
  to.*member = from.*member;
  return !(from.*member).empty();
}

/// Fills replicas where the other axes divide the GPUs, and cuts layers anew.
void fill(const SearchQuestion& question, Candidate& at) {
  ParallelPlan& plan = at.plan;
  const std::int64_t others = std::int64_t{plan.tensor} * plan.context * plan.stages;
  plan.data = at.gpus % others == 0 ? static_cast<int>(at.gpus / others) : 1;
  const auto layers = static_cast<int>(question.training.shape.layers);
  plan.stage_layers.clear();
  if (plan.chunks == 1 && plan.stages <= layers) {
    plan.stage_layers = balanced_layers(layers, plan.stages);
  }
}

template <auto values, auto member>
void set_axis(const PlanChoices& choices, const SearchQuestion& question, Candidate& at) {
  at.plan.*member = (choices.*values).front();
  fill(question, at);
}

template <auto values, auto member>
void set_value(const PlanChoices& choices, const SearchQuestion& /*question*/, Candidate& at) {
  at.plan.*member = (choices.*values).front();
}

void set_chunks(const PlanChoices& choices, const SearchQuestion& /*question*/, Candidate& at) {
  at.plan.chunks = choices.chunks.front();
  if (at.plan.chunks == 1) return;
  at.plan.stage_layers.clear();
  if (choices.schedules.empty()) at.plan.schedule = "interleaved";
}

void set_group(const PlanChoices& choices, const SearchQuestion& /*question*/, Candidate& at) {
  if (choices.zero_group.front() == 0) return;
  at.plan.zero_group = choices.zero_group.front();
  if (choices.zero.empty()) at.plan.zero = 1;
}

void set_recompute(const PlanChoices& choices, const SearchQuestion& /*question*/, Candidate& at) {
  at.plan.recompute = choices.recompute.front();
  at.plan.recompute_layers = at.plan.recompute == Recompute::block ? 1 : 0;
}

void set_overlap(const PlanChoices& choices, const SearchQuestion& question, Candidate& at) {
  at.plan.tensor_overlap = choices.tensor_overlap.front() != 0;
  const bool may_cut = choices.tensor.empty() && choices.data.empty() && at.gpus % 2 == 0;
  if (!at.plan.tensor_overlap.value() || !may_cut) return;
  at.plan.tensor = 2;  // one rank has nothing to overlap
  fill(question, at);
}

void set_compile(const PlanChoices& choices, const SearchQuestion& /*question*/, Candidate& at) {
  at.plan.compile = choices.compile.front() != 0;
}

using C = PlanChoices;
using P = ParallelPlan;
constexpr std::array<ChoiceKey, 14> choice_keys{
    {{take<&C::tensor>, set_axis<&C::tensor, &P::tensor>},
     {take<&C::context>, set_axis<&C::context, &P::context>},
     {take<&C::stages>, set_axis<&C::stages, &P::stages>},
     {take<&C::data>, set_value<&C::data, &P::data>},
     {take<&C::experts>, set_value<&C::experts, &P::experts>},
     {take<&C::micro_batch>, set_value<&C::micro_batch, &P::micro_batch>},
     {take<&C::sequence_parallel>, set_value<&C::sequence_parallel, &P::sequence_parallel>},
     {take<&C::tensor_overlap>, set_overlap},
     {take<&C::compile>, set_compile},
     {take<&C::schedules>, set_value<&C::schedules, &P::schedule>},
     {take<&C::chunks>, set_chunks},
     {take<&C::zero>, set_value<&C::zero, &P::zero>},
     {take<&C::zero_group>, set_group},
     {take<&C::recompute>, set_recompute}}};

/// A sentence on a plan that cannot be, and how many other reasons there are.
struct Reason {
  Candidate at = {};
  std::size_t others = 0;
  std::string text = {};
};

/// The frameworks, none of which runs a plan.
std::string not_run(const SearchContext& context, const FrameworkWays& ways) {
  if (context.frameworks.size() == 1) {
    return fmt::format("{} as published does not run it. {}", ways.title, ways.left_out);
  }
  std::vector<std::string_view> titles;
  for (const FrameworkContext& framework : context.frameworks) {
    if (framework.ways != nullptr) titles.push_back(framework.ways->title);
  }
  return fmt::format("none of {} as published runs it. Name another framework, or other keys.",
                     fmt::join(titles, ", "));
}

/// A reason of the search alone: it visits no plan whose states have one place.
std::string not_searched(const ParallelPlan& plan) {
  const int replicas = plan.data * plan.context;
  if (plan.zero > 0 && replicas == 1) {
    return fmt::format(
        "zero is {}, and there is one replica, over which nothing is sharded. Take zero=0, or "
        "fewer tensor ranks or stages.",
        plan.zero);
  }
  if (plan.zero_group == 1) {
    return fmt::format(
        "zero_group is 1, and groups that are searched have more than one of its {} replicas. Take "
        "zero_group=0, which stands for all.",
        replicas);
  }
  return {};
}

Reason reason_of(const SearchContext& context, const Candidate& at) {
  const FrameworkContext& framework = context.frameworks[at.framework];
  const parallel_time::Family& family = *framework.jobs.front().setting.family;
  // A feature that the software lacks is the plainest reason, before faults of the plan.
  const bool lacks_overlap = family.tensor_overlap == parallel_time::TensorOverlap::none;
  const std::vector<std::string> faults = parallel::faults(at.plan, at.gpus, context.facts);
  if (faults.empty() || (at.plan.tensor_overlap == true && lacks_overlap)) {
    try {
      parallel_time::sizes_of(framework.training, family, at.plan);
    } catch (const ConfigError& error) {
      return {at, 0, error.what()};
    }
  }
  if (!faults.empty()) return {at, faults.size(), faults.front()};
  if (framework.ways != nullptr && !framework.ways->runs(at.plan)) {
    return {at, 0, not_run(context, *framework.ways)};
  }
  return {at, 0, not_searched(at.plan)};
}

/// The reason with the fewest others that plans of `choices` have against one key more.
Reason plainest_reason(const SearchContext& context, int node_gpus, const PlanChoices& choices,
                       const ChoiceKey& key) {
  std::optional<Reason> plainest;
  int compared = 0;
  PossiblePlans(context, node_gpus, choices).each([&](Candidate at) {
    key.set(context.question->choices, *context.question, at);
    const Reason reason = reason_of(context, at);
    if (!reason.text.empty() && (!plainest || reason.others < plainest->others)) plainest = reason;
    return ++compared >= most_compared || (plainest && plainest->others == 0);
  });
  return plainest.value_or(Reason{});
}

/// Whether some plan of the choices is found; false where the search for one gives up.
bool can_be(const SearchContext& context, int node_gpus, const PlanChoices& choices) {
  bool is_possible = false;
  PossiblePlans(context, node_gpus, choices).each([&](const Candidate&) {
    return is_possible = true;
  });
  return is_possible;
}

}  // namespace

std::string impossible_choice(const SearchContext& context, int node_gpus) {
  PlanChoices choices;
  for (const ChoiceKey& key : choice_keys) {
    const PlanChoices before = choices;
    if (!key.take(context.question->choices, choices)) continue;
    if (can_be(context, node_gpus, choices)) continue;
    const Reason reason = plainest_reason(context, node_gpus, before, key);
    if (reason.text.empty()) return {};
    return fmt::format("No plan can be on {} as asked, such as {}: {}",
                       counted(reason.at.gpus, "GPU"), parallel::to_text(reason.at.plan),
                       reason.text);
  }
  return {};
}

std::string unrun_schedule(const SearchContext& context) {
  const std::vector<std::string>& schedules = context.question->choices.schedules;
  if (schedules.empty()) return {};
  ParallelPlan plan;
  plan.stages = 2;
  for (const std::string& schedule : schedules) {
    plan.schedule = schedule;
    plan.chunks = schedule == "interleaved" ? 2 : 1;
    const auto runs = [&](const FrameworkContext& framework) {
      return framework.ways == nullptr || framework.ways->runs(plan);
    };
    if (std::ranges::any_of(context.frameworks, runs)) return {};
  }
  return fmt::format("No plan can be as asked, with schedule={}: {}", fmt::join(schedules, "/"),
                     not_run(context, *context.frameworks.front().ways));
}

}  // namespace dlscale::model::parallel_search
