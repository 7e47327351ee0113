#include "model/parallel/search/split_search.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/goodput/parallel_plan.hpp"
#include "model/parallel/answer/allocator.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "model/parallel/timeline/part_costs.hpp"

namespace dlscale::model::parallel_search {
namespace {

using parallel::Recompute;
using parallel_time::PlanSizes;

bool allows(const PlanChoices& choices, Recompute recompute) {
  return choices.recompute.empty() ||
         std::ranges::find(choices.recompute, recompute) != choices.recompute.end();
}

/// Layers of the largest part.
int part_layers(const parallel::ParallelPlan& plan, std::int64_t layers) {
  if (!plan.stage_layers.empty()) return *std::ranges::max_element(plan.stage_layers);
  return static_cast<int>(layers / (std::int64_t{plan.stages} * plan.chunks));
}

}  // namespace

double SizedJob::joules(const parallel_time::IterationTime& time, double micro_batches,
                        double seconds) const {
  if (!watts) return 0;
  return gpus * seconds * watts->mean(goodput::shares_by_stage(time, micro_batches, seconds));
}

const SizedJob& FrameworkContext::job(int gpus) const {
  const auto found = std::ranges::lower_bound(jobs, gpus, {}, &SizedJob::gpus);
  EXPECT(found != jobs.end() && found->gpus == gpus);
  return *found;
}

double excess_of(const WholeTraining& whole, const SizedJob& job, double seconds) {
  if (!whole.longest && !whole.dearest) return 0;
  const Seconds time = goodput::expected_time(job.whole.value(), Seconds(seconds));
  double most = 0;
  if (whole.longest) most = time / *whole.longest;
  if (whole.dearest) {
    constexpr double hour = 3600;
    const double price = time.si() / hour * job.gpus * whole.price.value();
    most = std::max(most, price / *whole.dearest);
  }
  return most - 1;
}

void SplitSearch::visit(const Split& split) {
  pipelines_ = pipelines(*question_, split);
  micro_batches_ = micro_batches(*question_, split);
  at_ = {.gpus = split.gpus};
  at_.plan.tensor = split.tensor;
  at_.plan.context = split.context;
  at_.plan.stages = split.stages;
  at_.plan.data = split.data;
  if (!pipelines_.empty()) {
    for (const FrameworkContext& framework : context_->frameworks) {
      framework_ = &framework;
      visit_framework(split);
      ++at_.framework;
    }
  }
  found_->end_split();
}

void SplitSearch::visit_framework(const Split& split) {
  job_ = &framework_->job(split.gpus);
  at_.plan.bytes = framework_->bytes;
  if (!choose_compile()) return;
  for (const int groups : expert_groups(*question_, split)) {
    at_.plan.experts = groups;
    visit_experts(split);
  }
}

void SplitSearch::visit_experts(const Split& split) {
  keep_states(split);
  for (const int micro_batch : micro_batches_) {
    at_.plan.micro_batch = micro_batch;
    for (const int cut : {0, 1}) {
      if (cut == 1 && at_.plan.tensor == 1) continue;
      if (!is_allowed(cut, question_->choices.sequence_parallel)) continue;
      at_.plan.sequence_parallel = cut == 1;
      if (choose_overlap()) visit_micro_batch();
    }
  }
}

/// Compiles steps on request where that is allowed, which no time of the model grows by: if asked,
/// or by a framework whose launch options have it. Returns whether steps are as allowed.
bool SplitSearch::choose_compile() {
  using parallel_time::Compiling;
  const std::vector<int>& allowed = question_->choices.compile;
  const Compiling compiling = job_->setting.family->compiling;
  at_.plan.compile.reset();
  if (compiling != Compiling::on_request) {
    return is_allowed(compiling == Compiling::always ? 1 : 0, allowed);
  }
  const bool is_wanted = !allowed.empty() || framework_->ways != nullptr;
  if (is_wanted && is_allowed(1, allowed)) at_.plan.compile = true;
  return true;
}

/// Sends messages of tensors under products where that is allowed: through user buffers always,
/// which no time of the model grows by, and in pieces if asked. Returns whether the plan is
/// allowed.
bool SplitSearch::choose_overlap() {
  using parallel_time::TensorOverlap;
  const parallel_time::Family& family = *job_->setting.family;
  const std::vector<int>& allowed = question_->choices.tensor_overlap;
  at_.plan.tensor_overlap = true;
  const bool can = parallel_time::overlaps_tensor(family, at_.plan);
  const bool is_wanted = !allowed.empty() || family.tensor_overlap == TensorOverlap::buffers;
  const bool overlaps = can && is_wanted && is_allowed(1, allowed);
  at_.plan.tensor_overlap.reset();
  if (overlaps != parallel_time::overlaps_tensor(family, at_.plan)) {
    at_.plan.tensor_overlap = overlaps;
  }
  return is_allowed(overlaps ? 1 : 0, allowed);
}

/// Computes states of all ways to shard them.
void SplitSearch::keep_states(const Split& split) {
  const memory::TransformerShape& shape = framework_->training.shape;
  at_.plan.micro_batch = 1;
  at_.plan.sequence_parallel = false;
  at_.plan.tensor_overlap.reset();
  at_.plan.recompute = Recompute::none;
  at_.plan.recompute_layers = 0;
  set(pipelines_.front());
  states_.clear();
  for (const Sharding& sharding : shardings(*question_, split)) {
    set(sharding);
    const memory::MemorySetup setup =
        parallel_time::memory_setup_of(framework_->training, job_->setting, at_.plan);
    if (states_.empty()) {
      stages_ = needy_stages(shape, setup);
      libraries_ = memory::library_memory(setup.axes());
    }
    states_.push_back({sharding, states_of(shape, setup, framework_->way, stages_)});
  }
}

/// Finds pipelines that can be at all. No later choice makes a plan of one faulty.
void SplitSearch::keep_running() {
  at_.plan.recompute = Recompute::none;
  at_.plan.recompute_layers = 0;
  set(Sharding{});
  running_.clear();
  for (std::size_t i = 0; i < pipelines_.size(); ++i) {
    set(pipelines_[i]);
    if (parallel::faults(at_.plan, at_.gpus, context_->facts).empty()) running_.push_back(i);
  }
  makespans_.clear();
  makespans_.resize(pipelines_.size());
}

void SplitSearch::visit_micro_batch() {
  keep_running();
  if (running_.empty()) return;
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    visit_recompute(recompute);
  }
}

void SplitSearch::visit_recompute(Recompute recompute) {
  const PlanChoices& choices = question_->choices;
  const bool is_for_blocks = recompute == Recompute::none && allows(choices, Recompute::block);
  if (!allows(choices, recompute) && !is_for_blocks) return;
  whole_.clear();
  bare_.clear();
  std::vector<PipelineMemory> memories(pipelines_.size());
  for (const ShardedStates& states : states_) {
    sharded_.clear();
    set(states.sharding);
    for (const std::size_t i : running_) {
      pipeline_ = i;
      set(pipelines_[i]);
      at_.plan.recompute = recompute;
      at_.plan.recompute_layers = 0;
      visit_plan(states, memories[i]);
    }
  }
}

void SplitSearch::set(const Sharding& sharding) {
  at_.plan.zero = sharding.zero;
  at_.plan.zero_group.reset();
  if (sharding.group > 0) at_.plan.zero_group = sharding.group;
}

void SplitSearch::set(const Pipeline& pipeline) {
  at_.plan.schedule = pipeline.schedule;
  at_.plan.chunks = pipeline.chunks;
  at_.plan.stage_layers = pipeline.stage_layers;
}

bool SplitSearch::runs() const {
  return framework_->ways == nullptr || framework_->ways->runs(at_.plan);
}

double SplitSearch::excess() const {
  const bool is_sure = question_->fit == Fit::surely;
  return (is_sure ? at_.need.high : at_.need.bytes) - job_->hardware.memory;
}

/// The place of the plan's memory beside states.
std::vector<memory::StageMemory>& SplitSearch::rest(PipelineMemory& memory) const {
  const parallel::ParallelPlan& plan = at_.plan;
  if (plan.recompute == Recompute::block) {
    const auto layers = static_cast<std::size_t>(plan.recompute_layers);
    if (memory.rest_of_blocks.size() <= layers) memory.rest_of_blocks.resize(layers + 1);
    return memory.rest_of_blocks[layers];
  }
  const bool is_by_operator = plan.recompute == Recompute::selective && plan.zero >= 3;
  return is_by_operator ? memory.rest_of_operators : memory.rest;
}

bool SplitSearch::fits(const ShardedStates& states, PipelineMemory& memory) {
  std::vector<memory::StageMemory>& beside = rest(memory);
  if (beside.empty()) {
    beside = rest_of(framework_->training.shape,
                     parallel_time::memory_setup_of(framework_->training, job_->setting, at_.plan),
                     framework_->way, stages_);
  }
  at_.need = rank_need(states.states, beside, framework_->way, libraries_);
  if (excess() > 0) return false;
  waits_ = waits(states, beside);
  return true;
}

/// How many times as long the plan takes because an allocator waits for memory.
double SplitSearch::waits(const ShardedStates& states,
                          std::span<const memory::StageMemory> beside) const {
  if (!job_->setting.family->frees_blocks) return 1;
  const memory::MemoryEstimate reserved = rank_need(states.states, beside, framework_->way,
                                                    libraries_, memory::MemoryCounter::reserved);
  const parallel_time::MemoryNeed need =
      parallel_time::memory_need(reserved, libraries_, job_->hardware.memory);
  return parallel_time::waits_for_memory(*context_->waiting, *job_->setting.family, need).likely;
}

void SplitSearch::visit_plan(const ShardedStates& states, PipelineMemory& memory) {
  const PlanChoices& choices = question_->choices;
  if (allows(choices, at_.plan.recompute) && runs()) {
    if (fits(states, memory)) return time_plan();
    found_->miss(at_, excess());
  }
  if (at_.plan.recompute == Recompute::none && allows(choices, Recompute::block)) {
    visit_block(states, memory);
  }
}

void SplitSearch::visit_block(const ShardedStates& states, PipelineMemory& memory) {
  parallel::ParallelPlan& plan = at_.plan;
  const int all = part_layers(plan, question_->training.shape.layers);
  plan.recompute = Recompute::block;
  plan.recompute_layers = all;
  if (all < 2 || !runs() || !fits(states, memory)) return;
  int too_few = 0;
  int enough = all;
  while (enough - too_few > 1) {
    plan.recompute_layers = (too_few + enough) / 2;
    (fits(states, memory) ? enough : too_few) = plan.recompute_layers;
  }
  if (enough == all) return;  // full recomputation is that plan
  plan.recompute_layers = enough;
  if (fits(states, memory)) time_plan();
}

/// Parts of plans with the same recomputation; `make` computes those that are not known.
template <class Make>
SplitSearch::Parts& SplitSearch::known_parts(std::vector<Parts>& known, const PlanSizes& sizes,
                                             Make make) {
  const auto found = std::ranges::find_if(known, [&](const Parts& one) {
    return one.recompute == sizes.recompute && one.recompute_share == sizes.recompute_share;
  });
  if (found != known.end()) return *found;
  known.push_back(make());
  return known.back();
}

SplitSearch::Parts& SplitSearch::shared_parts(const PlanSizes& sizes) {
  std::vector<Parts>& bare = sizes.sharded_weights ? bare_ : whole_;
  Parts& parts = known_parts(bare, sizes, [&] {
    return Parts{sizes.recompute, sizes.recompute_share,
                 parallel_time::layer_without_gathers(job_->ordering(), sizes),
                 parallel_time::table_time(job_->ordering(), sizes),
                 std::vector<Makespan>(pipelines_.size())};
  });
  if (!sizes.sharded_weights) return parts;
  return known_parts(sharded_, sizes, [&] {
    Parts gathered = parts;
    gathered.layer = parallel_time::with_gathers(job_->ordering(), sizes, parts.layer);
    gathered.tables = parallel_time::table_time(job_->ordering(), sizes);
    return gathered;
  });
}

/// A lower bound of the pipeline at hand, less what rounding may add to it.
Seconds SplitSearch::least_makespan(const PlanSizes& sizes,
                                    const parallel_time::IterationTime& time) {
  constexpr double rounding = 1e-11;
  const PipelineCosts costs =
      parallel_time::schedule_costs(job_->ordering(), sizes, at_.plan, time);
  return (1 - rounding) * closed_form(parallel::find_schedule(at_.plan.schedule),
                                      parallel_time::shape_of(sizes), costs)
                              .lower;
}

/// The simulated makespan of the pipeline at hand.
Seconds SplitSearch::own_makespan(const PlanSizes& sizes,
                                  const parallel_time::IterationTime& time) {
  std::optional<Makespans>& known = makespans_[pipeline_];
  if (!known) known = parallel_time::makespans_of(sizes, at_.plan);
  return parallel_time::simulated_pipeline(job_->ordering(), sizes, at_.plan, time, &*known);
}

void SplitSearch::set(const PlanSizes& sizes, const parallel_time::IterationTime& time) {
  at_.seconds = time.total * waits_;
  at_.joules = job_->joules(time, sizes.micro_batches, at_.seconds);
  at_.score = score_of(question_->objective, at_.gpus, at_.seconds, at_.joules);
}

/// By how much a plan that counts exceeds the limits in the time that its own framework takes.
double SplitSearch::over_limits(const PlanSizes& sizes) const {
  const double over = over_limits();
  if (!job_->compared || !question_->whole || over > 0 || !found_->would_keep(at_)) return over;
  const double own = parallel_time::plan_time(job_->setting, sizes, at_.plan).total * waits_;
  return excess_of(*question_->whole, *job_, own);
}

double SplitSearch::over_limits() const {
  return question_->whole ? excess_of(*question_->whole, *job_, at_.seconds) : 0;
}

/// Whether a plan with at least this time may count in the answer.
bool SplitSearch::may_count() const {
  const double over = over_limits();
  return over > 0 ? found_->would_keep_excess(over) : found_->would_keep(at_);
}

/// Times a plan that fits, and offers it.
void SplitSearch::time_plan() {
  PlanSizes sizes = parallel_time::sizes_of(framework_->training, *job_->setting.family, at_.plan);
  sizes.stage_layers = at_.plan.stage_layers;
  sizes.keeps_gathered_stage = at_.plan.zero >= 3 && framework_->way.keeps_gathered_stage;
  Parts& parts = shared_parts(sizes);
  parallel_time::IterationTime time =
      parallel_time::iteration_time(job_->ordering(), sizes, parts.layer, parts.tables);
  if (at_.plan.stages > 1) {
    Makespan& makespan = parts.makespans[pipeline_];
    if (!makespan.least) makespan.least = least_makespan(sizes, time);
    parallel_time::use_pipeline(job_->ordering(), at_.plan, *makespan.least, time);
    set(sizes, time);
    if (may_count()) {
      if (!makespan.own) {
        makespan.own = own_makespan(sizes, time);
        found_->count_simulation();
      }
      parallel_time::use_pipeline(job_->ordering(), at_.plan, *makespan.own, time);
    }
  }
  set(sizes, time);
  const double over = over_limits(sizes);
  if (over > 0) {
    found_->exceed(at_, over);
  } else {
    found_->offer(at_);
  }
}

}  // namespace dlscale::model::parallel_search
