#include "core/parallel/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "core/text/numbers.hpp"
#include "core/text/words.hpp"

namespace dlscale::parallel {
namespace {

constexpr Words<Axis, 5> axes{{{Axis::tensor, "tensor"},
                               {Axis::context, "context"},
                               {Axis::branches, "branches"},
                               {Axis::data, "data"},
                               {Axis::stages, "stages"}}};
constexpr Words<Recompute, 4> recomputes{{{Recompute::none, "none"},
                                          {Recompute::selective, "selective"},
                                          {Recompute::full, "full"},
                                          {Recompute::block, "block"}}};
static_assert(in_order(axes) && axes.size() == all_axes.size());
static_assert(in_order(recomputes) && recomputes.size() == all_recomputes.size());

/// Largest size of an axis, and of a batch.
constexpr double most_state_bytes = 16;

class Faults {
 public:
  Faults(const ParallelPlan& plan, std::int64_t devices, const NetworkFacts& facts)
      : plan_(plan), devices_(devices), facts_(facts) {}

  std::vector<std::string> find() {
    check_ranges();
    if (!found_.empty()) return std::move(found_);  // products could overflow
    check_devices();
    check_tensor();
    check_tokens();
    check_experts();
    check_branches();
    check_layers();
    check_batch();
    check_schedule();
    check_zero();
    check_recompute();
    return std::move(found_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> text, Values&&... values) {
    found_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void check_range(std::string_view name, int value, int least, int largest) {
    if (value >= least && value <= largest) return;
    add("{} is {}. Write a whole number from {} to {}.", name, value, least, largest);
  }

  void check_ranges() {
    for (const Axis axis : all_axes)
      check_range(axis_name(axis), ranks_along(axis, plan_), 1, most_in_plan);
    check_range("experts", plan_.experts, 1, most_in_plan);
    check_range("chunks", plan_.chunks, 1, most_in_plan);
    check_range("micro_batch", plan_.micro_batch.value_or(1), 1, most_in_plan);
    check_range("micro_batches", plan_.micro_batches.value_or(1), 1, most_in_plan);
    check_range("zero", plan_.zero, 0, 3);
    check_range("zero_group", plan_.zero_group.value_or(1), 1, most_in_plan);
    check_range("recompute_layers", plan_.recompute_layers, 0, most_in_plan);
    for (const int layers : plan_.stage_layers)
      check_range("stage_layers", layers, 1, most_in_plan);
    const StateBytes& bytes = plan_.bytes;
    check_bytes("weight_bytes", bytes.weights);
    if (bytes.weights == 0) add("weight_bytes is 0. Write the bytes of a weight, such as 2.");
    check_bytes("gradient_bytes", bytes.gradients);
    check_bytes("main_gradient_bytes", bytes.main_gradients);
    check_bytes("master_bytes", bytes.master);
    check_bytes("moment_bytes", bytes.moments);
    check_words();
  }

  void check_bytes(std::string_view name, const std::optional<double>& value) {
    if (!value || (*value >= 0 && *value <= most_state_bytes)) return;  // NaN is neither
    add("{} is {}. Write the bytes of a parameter, from 0 to {}.", name, *value, most_state_bytes);
  }

  void check_words() {
    for (const Axis axis : all_axes) {
      if (std::ranges::count(plan_.order, axis) == 1) continue;
      add("order names {} {} times. Name each axis once.", axis_name(axis),
          std::ranges::count(plan_.order, axis));
    }
    if (plan_.optimizer != Optimizer::sgd && plan_.optimizer != Optimizer::momentum &&
        plan_.optimizer != Optimizer::adam) {
      add("optimizer is {} (a plan knows what others keep by their name alone). Take sgd, momentum "
          "or adam.",
          optimizer_name(plan_.optimizer));
    }
    if (family<PipelineSchedule>().find(plan_.schedule) != nullptr) return;
    try {
      find_schedule(plan_.schedule);
    } catch (const ConfigError& error) {
      found_.emplace_back(error.what());
    }
  }

  void check_devices() {
    double ranks = 1;  // exact below 2^53, and never so large by chance
    for (const Axis axis : all_axes) ranks *= ranks_along(axis, plan_);
    if (ranks == static_cast<double>(devices_)) return;
    add("data {} × tensor {} × context {} × branches {} × stages {} are {:.15g} rank{}, and there "
        "{} {}. Change one of these, or the number of devices.",
        plan_.data, plan_.tensor, plan_.context, plan_.branches, plan_.stages, ranks,
        ranks == 1 ? "" : "s", devices_ == 1 ? "is" : "are", counted(devices_, "device"));
  }

  /// Adds a fault unless `ways` ranks can share `count` equally.
  void check_share(std::string_view name, int ways, std::optional<int> count,
                   std::string_view what) {
    if (!count || ways == 1 || (*count > 0 && *count % ways == 0)) return;
    if (*count == 0) {
      add("{} is {}, and the network has no {}. Write 1.", name, ways, what);
    } else {
      add("{} is {}, and the network has {} {} (each rank takes the same share). Write a divisor "
          "of {}.",
          name, ways, *count, what, *count);
    }
  }

  void check_tensor() {
    check_share("tensor", plan_.tensor, facts_.heads, "attention heads");
    if (facts_.heads.value_or(1) == 0) return;
    // Ranks may also hold copies of the same keys and values.
    const int kv_heads = facts_.kv_heads.value_or(1);
    if (kv_heads == 0 || plan_.tensor % kv_heads != 0) {
      check_share("tensor", plan_.tensor, facts_.kv_heads, "heads of keys and values");
    }
    check_share("tensor", plan_.tensor, facts_.hidden, "features between layers");
    check_share("tensor", plan_.tensor, facts_.ffn, "features in its feed-forward blocks");
  }

  void check_tokens() {
    check_share("context", plan_.context, facts_.sequence, "tokens in a sample");
    if (plan_.tensor_overlap == true && plan_.tensor == 1) {
      add("tensor_overlap is true, and tensor is 1 (there are no tensor-parallel messages to send "
          "under products). Raise tensor, or leave it out.");
    } else if (plan_.tensor_overlap == true && !plan_.sequence_parallel) {
      add("tensor_overlap is true without sequence_parallel (frameworks send only cut tokens under "
          "products). Write sequence_parallel=true, or leave it out.");
    }
    if (!plan_.sequence_parallel) return;
    if (plan_.tensor == 1) {
      add("sequence_parallel is true, and tensor is 1 (it cuts what tensor parallelism leaves "
          "whole). Raise tensor, or write false.");
    } else if (facts_.sequence && *facts_.sequence % plan_.context == 0) {
      const int tokens = *facts_.sequence / plan_.context;
      if (tokens % plan_.tensor == 0) return;
      add("sequence_parallel is true with tensor {}, and a rank has {} tokens of a sample (it cuts "
          "them into equal shares). Write false, or another tensor.",
          plan_.tensor, tokens);
    }
  }

  void check_experts() {
    check_share("experts", plan_.experts, facts_.experts, "experts");
    if (plan_.experts > 1 && plan_.tensor > 1 && !plan_.sequence_parallel) {
      add("experts is {} and tensor is {} without sequence_parallel (each tensor rank would do all "
          "work of its experts). Write sequence_parallel=true, or 1 for one of both.",
          plan_.experts, plan_.tensor);
    }
    const std::int64_t ranks = std::int64_t{plan_.data} * plan_.context;
    if (ranks % plan_.experts == 0) return;
    add("experts is {}, and data {} × context {} are {} ranks (groups of experts lie within them). "
        "Write a divisor of {}.",
        plan_.experts, plan_.data, plan_.context, ranks, ranks);
  }

  void check_branches() {
    check_share("branches", plan_.branches, facts_.branches, "branches side by side");
    if (plan_.branches == 1 || plan_.tensor == 1 || !facts_.heads || *facts_.heads == 0) return;
    const std::int64_t ways = std::int64_t{plan_.branches} * plan_.tensor;
    if (*facts_.heads % ways == 0) return;
    add("branches {} × tensor {} are {} shares of {} attention heads (both cut them). Make their "
        "product a divisor of {}.",
        plan_.branches, plan_.tensor, ways, *facts_.heads, *facts_.heads);
  }

  void check_layers() {
    const std::int64_t parts = std::int64_t{plan_.stages} * plan_.chunks;
    if (plan_.stage_layers.empty()) {
      if (!facts_.layers || *facts_.layers % parts == 0) return;
      add("stages {} × chunks {} are {} parts of {} layers (each part takes the same number). Make "
          "their product a divisor, or write stage_layers.",
          plan_.stages, plan_.chunks, parts, *facts_.layers);
      return;
    }
    const auto stated = static_cast<std::int64_t>(plan_.stage_layers.size());
    if (stated != parts) {
      add("stage_layers has {}, and stages {} × chunks {} are {} parts. Write one for each part.",
          counted(stated, "number"), plan_.stages, plan_.chunks, parts);
    }
    const std::int64_t sum =
        std::accumulate(plan_.stage_layers.begin(), plan_.stage_layers.end(), std::int64_t{0});
    if (!facts_.layers || sum == *facts_.layers) return;
    add("stage_layers add up to {}, and the network has {} layers. Give each layer to one part.",
        sum, *facts_.layers);
  }

  void check_batch() {
    if (!facts_.global_batch) return;
    const std::int64_t batch = *facts_.global_batch;
    const std::int64_t copies = std::int64_t{plan_.data} * plan_.branches;
    if (batch < 1 || batch % copies != 0) {
      add("data {} × branches {} share a global batch of {} samples (each takes the same number). "
          "Make their product a divisor, or change the batch.",
          plan_.data, plan_.branches, batch);
      batch_fits_ = false;
      return;
    }
    const std::int64_t share = batch / copies;
    const std::int64_t stated =
        std::int64_t{plan_.micro_batch.value_or(1)} * plan_.micro_batches.value_or(1);
    const bool both = plan_.micro_batch && plan_.micro_batches;
    if (both ? share == stated : share % stated == 0) return;
    const std::string_view name = plan_.micro_batch ? "micro_batch" : "micro_batches";
    if (both) {
      add("micro_batch {} × micro_batches {} are {} samples, and the share of a global batch of {} "
          "has {}. Write one of both.",
          *plan_.micro_batch, *plan_.micro_batches, stated, batch, share);
    } else {
      add("{} is {}, and the share of a global batch of {} has {} samples. Write a divisor of {}.",
          name, stated, batch, share, share);
    }
    batch_fits_ = false;
  }

  void check_schedule() {
    if (!batch_fits_) return;
    const PipelineSchedule& schedule = find_schedule(plan_.schedule);
    const std::int64_t micro_batches = batches_of(plan_, facts_).micro_batches;
    if (micro_batches > most_in_plan) {
      add("An iteration has {} micro-batches. Raise micro_batch, so that there are at most {}.",
          micro_batches, most_in_plan);
      return;
    }
    const PipelineShape shape = pipeline_of(plan_, facts_);
    const std::string why = obstacle(schedule, shape);
    if (why.empty()) return;
    add("schedule is {}, which {}, and the plan has {}, {} and {} micro-batch{}. Change one of "
        "these, or take another schedule.",
        plan_.schedule, why, counted(shape.stages, "stage"), counted(shape.chunks, "chunk"),
        shape.micro_batches, shape.micro_batches == 1 ? "" : "es");
  }

  void check_zero() {
    if (!plan_.zero_group) return;
    if (plan_.zero == 0) {
      add("zero_group is {}, and zero is 0 (nothing is sharded). Leave it out, or raise zero.",
          *plan_.zero_group);
      return;
    }
    const std::int64_t ranks = std::int64_t{plan_.data} * plan_.context;
    if (ranks % *plan_.zero_group == 0) return;
    add("zero_group is {}, and data {} × context {} are {} ranks (equal groups share copies). "
        "Write a divisor of {}.",
        *plan_.zero_group, plan_.data, plan_.context, ranks, ranks);
  }

  void check_recompute() {
    if (plan_.recompute == Recompute::selective && facts_.heads == 0) {
      add("recompute is selective, and the network has no attention scores to compute again. Take "
          "none, full or block.");
    }
    if (plan_.recompute != Recompute::block) {
      if (plan_.recompute_layers == 0) return;
      add("recompute_layers is {}, and recompute is {}. Leave it out, or take block.",
          plan_.recompute_layers, recompute_name(plan_.recompute));
      return;
    }
    if (plan_.recompute_layers == 0) {
      add("recompute is block, and recompute_layers is 0. Write how many layers of a part are "
          "computed again.");
    }
    check_block();
  }

  void check_block() {
    const std::int64_t parts = std::int64_t{plan_.stages} * plan_.chunks;
    std::int64_t largest = most_in_plan;
    if (!plan_.stage_layers.empty()) {
      largest = *std::ranges::max_element(plan_.stage_layers);
    } else if (facts_.layers && *facts_.layers % parts == 0) {
      largest = *facts_.layers / parts;
    }
    if (plan_.recompute_layers <= largest) return;
    add("recompute_layers is {}, and a part has {} layers. Write at most that, or take full.",
        plan_.recompute_layers, largest);
  }

  const ParallelPlan& plan_;
  std::int64_t devices_;
  const NetworkFacts& facts_;
  bool batch_fits_ = true;
  std::vector<std::string> found_;
};

}  // namespace

std::string_view axis_name(Axis axis) {
  return name_of(axis, axes);
}

Axis parse_axis(std::string_view name) {
  return value_of("plan axis", name, axes);
}

std::string_view recompute_name(Recompute recompute) {
  return name_of(recompute, recomputes);
}

Recompute parse_recompute(std::string_view name) {
  return value_of("way to recompute", name, recomputes);
}

int ranks_along(Axis axis, const ParallelPlan& plan) {
  switch (axis) {
    case Axis::tensor:
      return plan.tensor;
    case Axis::context:
      return plan.context;
    case Axis::branches:
      return plan.branches;
    case Axis::data:
      return plan.data;
    case Axis::stages:
      return plan.stages;
  }
  fail_expectation("an axis");
}

KeptBytes kept_bytes(const StateBytes& bytes) {
  const KeptBytes plain;
  return {bytes.weights.value_or(plain.weights), bytes.gradients.value_or(plain.gradients),
          bytes.main_gradients.value_or(plain.main_gradients), bytes.master.value_or(plain.master)};
}

double moment_bytes(const ParallelPlan& plan) {
  return plan.bytes.moments.value_or(4.0 * optimizer_states(plan.optimizer));
}

PlanBatches batches_of(const ParallelPlan& plan, const NetworkFacts& facts) {
  PlanBatches batches;
  if (plan.micro_batch) batches.micro_batch = *plan.micro_batch;
  batches.micro_batches = plan.micro_batches.value_or(1);
  if (!facts.global_batch) return batches;
  const std::int64_t share = *facts.global_batch / (std::int64_t{plan.data} * plan.branches);
  if (!plan.micro_batch) {
    batches.micro_batch = share / batches.micro_batches;
  } else if (!plan.micro_batches) {
    batches.micro_batches = share / *plan.micro_batch;
  }
  return batches;
}

PipelineShape pipeline_of(const ParallelPlan& plan, const NetworkFacts& facts) {
  const std::int64_t micro_batches = batches_of(plan, facts).micro_batches;
  EXPECT(micro_batches <= most_in_plan);
  return {plan.stages, plan.chunks, static_cast<int>(micro_batches)};
}

std::vector<std::string> faults(const ParallelPlan& plan, std::int64_t devices,
                                const NetworkFacts& facts) {
  return Faults(plan, devices, facts).find();
}

bool may_hide_expert_messages(Recompute recompute, double stages, double chunks) {
  const bool repeats_layers = recompute == Recompute::full || recompute == Recompute::block;
  return !repeats_layers && (stages <= 1 || chunks > 1);
}

void check(const ParallelPlan& plan, std::int64_t devices, const NetworkFacts& facts) {
  const std::vector<std::string> found = faults(plan, devices, facts);
  if (!found.empty()) throw ConfigError(found.front());
}

}  // namespace dlscale::parallel
