#include "model/parallel/search/split_search.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "model/parallel/search/rank_need.hpp"

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

const SizedJob& SearchContext::job(int gpus) const {
  const auto found = std::ranges::find(jobs, gpus, &SizedJob::gpus);
  EXPECT(found != jobs.end());
  return *found;
}

void SplitSearch::visit(const Split& split) {
  job_ = &context_->job(split.gpus);
  at_ = {.gpus = split.gpus};
  at_.plan.tensor = split.tensor;
  at_.plan.context = split.context;
  at_.plan.stages = split.stages;
  at_.plan.data = split.data;
  at_.plan.bytes = context_->bytes;
  pipelines_ = pipelines(*question_, split);
  const auto& experts = question_->training.shape.experts;
  for (const int groups : divisors(experts ? experts->count : 1)) {
    if (split.data * split.context % groups != 0) continue;
    if (is_allowed(groups, question_->choices.experts)) visit_experts(groups);
  }
  found_->end_split();
}

void SplitSearch::visit_experts(int experts) {
  parallel::ParallelPlan& plan = at_.plan;
  plan.experts = experts;
  shardings_.clear();
  if (pipelines_.empty()) return;
  plan.stage_layers = pipelines_.front().stage_layers;
  plan.micro_batch = 1;
  for (const Sharding& sharding :
       shardings(*question_, {at_.gpus, plan.tensor, plan.context, plan.stages, plan.data})) {
    plan.zero = sharding.zero;
    plan.zero_group.reset();
    if (sharding.group > 0) plan.zero_group = sharding.group;
    const memory::MemorySetup setup =
        parallel_time::memory_setup_of(question_->training, job_->setting, plan);
    const bool is_hopeless = context_->skips_by_states &&
                             least_need(question_->training.shape, setup) > job_->hardware.memory;
    shardings_.push_back({sharding, is_hopeless});
  }
  for (const int micro_batch : divisors(question_->training.global_batch / plan.data)) {
    if (!is_allowed(micro_batch, question_->choices.micro_batch)) continue;
    plan.micro_batch = micro_batch;
    for (const int cut : {0, 1}) {
      if (cut == 1 && plan.tensor == 1) continue;
      if (cut == 0 && plan.tensor > 1 && plan.experts > 1) continue;  // a fault
      if (!is_allowed(cut, question_->choices.sequence_parallel)) continue;
      plan.sequence_parallel = cut == 1;
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        visit_recompute(recompute);
      }
    }
  }
}

void SplitSearch::visit_recompute(Recompute recompute) {
  const PlanChoices& choices = question_->choices;
  const bool is_for_blocks = recompute == Recompute::none && allows(choices, Recompute::block);
  if (!allows(choices, recompute) && !is_for_blocks) return;
  parallel::ParallelPlan& plan = at_.plan;
  whole_.reset();
  for (const CheckedSharding& sharding : shardings_) {
    sharded_.reset();
    plan.zero = sharding.sharding.zero;
    plan.zero_group.reset();
    if (sharding.sharding.group > 0) plan.zero_group = sharding.sharding.group;
    for (const Pipeline& pipeline : pipelines_) {
      const auto share = question_->training.global_batch / plan.data;
      if (pipeline.chunks > 1 && share / *plan.micro_batch % plan.stages != 0) continue;
      plan.recompute = recompute;
      plan.recompute_layers = 0;
      plan.schedule = pipeline.schedule;
      plan.chunks = pipeline.chunks;
      plan.stage_layers = pipeline.stage_layers;
      visit_plan(sharding);
    }
  }
}

bool SplitSearch::runs() const {
  if (question_->ways != nullptr && !question_->ways->runs(at_.plan)) return false;
  return parallel::faults(at_.plan, at_.gpus, context_->facts).empty();
}

double SplitSearch::excess() const {
  const bool is_sure = question_->fit == Fit::surely;
  return (is_sure ? at_.need.high : at_.need.bytes) - job_->hardware.memory;
}

bool SplitSearch::fits() {
  at_.need = rank_need(question_->training.shape,
                       parallel_time::memory_setup_of(question_->training, job_->setting, at_.plan),
                       context_->way);
  return excess() <= 0;
}

void SplitSearch::visit_plan(const CheckedSharding& sharding) {
  const PlanChoices& choices = question_->choices;
  if (allows(choices, at_.plan.recompute) && runs()) {
    if (sharding.is_hopeless) {
      found_->skip();
      return;
    }
    if (fits()) {
      const PlanSizes numbers = sizes();
      finish(shared_parts(numbers), numbers);
      return;
    }
    found_->miss(at_, excess());
  }
  if (at_.plan.recompute == Recompute::none && allows(choices, Recompute::block)) {
    visit_block(sharding);
  }
}

void SplitSearch::visit_block(const CheckedSharding& sharding) {
  parallel::ParallelPlan& plan = at_.plan;
  const int all = part_layers(plan, question_->training.shape.layers);
  plan.recompute = Recompute::block;
  plan.recompute_layers = all;
  if (all < 2 || !runs() || sharding.is_hopeless || !fits()) return;
  int too_few = 0;
  int enough = all;
  while (enough - too_few > 1) {
    plan.recompute_layers = (too_few + enough) / 2;
    (fits() ? enough : too_few) = plan.recompute_layers;
  }
  if (enough == all) return;  // full recomputation is that plan
  plan.recompute_layers = enough;
  if (!fits()) return;
  const PlanSizes numbers = sizes();
  finish(parts_of(numbers), numbers);
}

PlanSizes SplitSearch::sizes() const {
  PlanSizes numbers = parallel_time::sizes_of(question_->training, at_.plan);
  numbers.stage_layers = at_.plan.stage_layers;
  numbers.keeps_gathered_stage = at_.plan.zero >= 3 && context_->way.keeps_gathered_stage;
  return numbers;
}

SplitSearch::Parts SplitSearch::parts_of(const PlanSizes& numbers) const {
  return {parallel_time::layer_time(job_->setting, numbers),
          parallel_time::table_time(job_->setting, numbers)};
}

const SplitSearch::Parts& SplitSearch::shared_parts(const PlanSizes& numbers) {
  std::optional<Parts>& parts = numbers.sharded_weights ? sharded_ : whole_;
  if (!parts) parts = parts_of(numbers);
  return *parts;
}

void SplitSearch::finish(const Parts& parts, const PlanSizes& numbers) {
  at_.seconds =
      parallel_time::iteration_time(job_->setting, numbers, parts.layer, parts.tables).total;
  at_.score = score_of(question_->objective, at_.gpus, at_.seconds);
  found_->offer(at_);
}

}  // namespace dlscale::model::parallel_search
