#include "model/memory/out_of_core/policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/words.hpp"
#include "model/memory/out_of_core/optimal_choices.hpp"
#include "model/memory/out_of_core/unified_memory.hpp"

namespace dlscale::model {
namespace {

constexpr Words<SpillPolicy, 9> policies{{{SpillPolicy::keep, "keep"},
                                          {SpillPolicy::recompute, "recompute"},
                                          {SpillPolicy::naive, "naive"},
                                          {SpillPolicy::vdnn_conv, "vdnn_conv"},
                                          {SpillPolicy::vdnn_all, "vdnn_all"},
                                          {SpillPolicy::prefetch, "prefetch"},
                                          {SpillPolicy::unified, "unified"},
                                          {SpillPolicy::unified_advised, "unified_advised"},
                                          {SpillPolicy::optimal, "optimal"}}};
constexpr Words<SpillChoice, 3> choices_named{{{SpillChoice::keep, "keep"},
                                               {SpillChoice::swap, "swap"},
                                               {SpillChoice::recompute, "recompute"}}};
static_assert(in_order(policies) && policies.size() == all_spill_policies.size());
static_assert(in_order(choices_named));

constexpr int most_steps_ahead = 8;

double in_gigabytes(Bytes size) {
  return size.si() / 1e9;
}

/// The policies of `optimal` that others are compared with.
constexpr std::array simple_policies{SpillPolicy::keep,     SpillPolicy::recompute,
                                     SpillPolicy::naive,    SpillPolicy::vdnn_conv,
                                     SpillPolicy::vdnn_all, SpillPolicy::prefetch,
                                     SpillPolicy::unified,  SpillPolicy::unified_advised};

std::vector<SpillChoice> choices_by(SpillPolicy policy, const SpilledTraining& training) {
  std::vector<SpillChoice> choices;
  for (const SpillTensor& tensor : training.tensors) {
    const bool moves = policy != SpillPolicy::vdnn_conv || tensor.feeds_convolution;
    SpillChoice choice = tensor.may_move && moves ? SpillChoice::swap : SpillChoice::keep;
    if (policy == SpillPolicy::keep) choice = SpillChoice::keep;
    if (policy == SpillPolicy::recompute) {
      choice = tensor.recompute ? SpillChoice::recompute : SpillChoice::keep;
    }
    choices.push_back(choice);
  }
  return choices;
}

SpillAnswer answer_of(SpillPolicy policy, const SpilledTraining& training, const HostLink& link,
                      std::vector<SpillChoice> choices, int distance) {
  const SpillTime time = spill_time(training, choices, link, {distance});
  SpillAnswer answer{policy,    time.total,   time.stall, time.recomputing,
                     time.peak, time.swapped, {},         distance};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == SpillChoice::recompute) answer.anew += training.tensors[i].size;
  }
  answer.choices = std::move(choices);
  return answer;
}

SpillAnswer managed(SpillPolicy policy, const SpilledTraining& training, const HostLink& link,
                    Bytes budget) {
  const ManagedUse use =
      policy == SpillPolicy::unified ? ManagedUse::on_demand : ManagedUse::advised;
  const ManagedTime time = managed_time(training, link, budget, use);
  const std::vector<SpillChoice> all = choices_by(SpillPolicy::keep, training);
  const Bytes needed = spill_time(training, all, link).peak;
  return {policy, time.total, time.stall, {}, std::min(budget, needed), time.out, {}, 1};
}

/// The quickest distance at which the choices fit; the shortest if none does.
SpillAnswer best_distance(SpillPolicy policy, const SpilledTraining& training, const HostLink& link,
                          Bytes budget, const std::vector<SpillChoice>& choices) {
  SpillAnswer best = answer_of(policy, training, link, choices, 1);
  for (int distance = 2; distance <= most_steps_ahead; ++distance) {
    SpillAnswer next = answer_of(policy, training, link, choices, distance);
    if (next.peak <= budget && next.total < best.total) best = std::move(next);
  }
  return best;
}

/// The answer of a simple policy, whether it fits or not.
SpillAnswer simple(SpillPolicy policy, const SpilledTraining& training, const HostLink& link,
                   Bytes budget) {
  if (policy == SpillPolicy::recompute) {
    return answer_of(policy, training, link, choices_by(policy, training), 1);
  }
  const SpilledTraining alone = without_recompute(training);
  if (policy == SpillPolicy::unified || policy == SpillPolicy::unified_advised) {
    return managed(policy, alone, link, budget);
  }
  std::vector<SpillChoice> choices = choices_by(policy, alone);
  if (policy == SpillPolicy::prefetch) return best_distance(policy, alone, link, budget, choices);
  const int distance = policy == SpillPolicy::naive ? 0 : 1;
  return answer_of(policy, alone, link, std::move(choices), distance);
}

/// The least memory of any choices: without a tensor that waits.
Bytes least_memory(const SpilledTraining& training, const HostLink& link) {
  return simple(SpillPolicy::naive, training, link, {}).peak;
}

SpillAnswer best_of_all(const SpilledTraining& training, const HostLink& link, Bytes budget) {
  std::optional<SpillAnswer> best;
  const auto offer = [&](SpillAnswer answer) {
    if (answer.peak > budget || (best && best->total <= answer.total)) return;
    answer.same_as = answer.policy;
    answer.policy = SpillPolicy::optimal;
    best = std::move(answer);
  };
  const auto offer_optimum = [&](const SpilledTraining& one) {
    if (const auto choices = optimal_choices(one, link, budget)) {
      offer(best_distance(SpillPolicy::optimal, one, link, budget, *choices));
    }
  };
  offer_optimum(training);
  const auto anew = [](const SpillTensor& tensor) { return tensor.recompute.has_value(); };
  if (std::ranges::any_of(training.tensors, anew)) offer_optimum(without_recompute(training));
  for (const SpillPolicy policy : simple_policies) {
    try {
      offer(simple(policy, training, link, budget));
    } catch (const ConfigError&) {  // managed memory may need more
    }
  }
  if (best) return *best;
  throw ConfigError(fmt::format(
      "training {} needs at least {:.4g} GB with all outputs swapped that may be, and the device "
      "has {:.4g} GB. Ask for a smaller batch.",
      training.name, in_gigabytes(least_memory(training, link)), in_gigabytes(budget)));
}

}  // namespace

std::string_view spill_policy_name(SpillPolicy policy) {
  return name_of(policy, policies);
}

SpillPolicy parse_spill_policy(std::string_view name) {
  return value_of("policy of out-of-core training", name, policies);
}

std::string_view spill_choice_name(SpillChoice choice) {
  return name_of(choice, choices_named);
}

SpillAnswer spilled(SpillPolicy policy, const SpilledTraining& training, const HostLink& link,
                    Bytes budget) {
  if (policy == SpillPolicy::optimal) return best_of_all(training, link, budget);
  SpillAnswer answer = simple(policy, training, link, budget);
  if (answer.peak <= budget) return answer;
  throw ConfigError(fmt::format(
      "training {} needs {:.4g} GB under the policy {}, and the device has {:.4g} GB. Take "
      "optimal, or a smaller batch.",
      training.name, in_gigabytes(answer.peak), spill_policy_name(policy), in_gigabytes(budget)));
}

}  // namespace dlscale::model
