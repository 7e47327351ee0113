#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/goodput/training_cost.hpp"
#include "model/memory/implementation.hpp"
#include "model/memory/library_memory.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/pipeline/makespans.hpp"
#include "model/parallel/search/question.hpp"
#include "model/parallel/search/rank_need.hpp"
#include "model/parallel/search/reduction.hpp"
#include "model/parallel/search/split.hpp"

namespace dlscale::model::parallel_search {

/// A number of GPUs, and all that times plans of a framework on them.
struct SizedJob {
  int gpus = 1;
  parallel_time::ParallelHardware hardware;
  parallel_time::Setting setting;
  std::optional<goodput::PhaseWatts> watts = {};  ///< of a GPU with its part of the node
  /// The whole training, where one is asked for, with the iteration of no plan.
  std::optional<goodput::CostQuestion> whole = {};
  /// By which plans of several frameworks are compared, as if trainings had decided each.
  std::optional<parallel_time::Setting> compared = {};
  /// The setting that orders plans.
  [[nodiscard]] const parallel_time::Setting& ordering() const {
    return compared ? *compared : setting;
  }
  /// Joules of all GPUs in an iteration that takes `seconds`; 0 where no power is known.
  [[nodiscard]] double joules(const parallel_time::IterationTime& time, double micro_batches,
                              double seconds) const;
};

/// A framework, and all that its plans have in common.
struct FrameworkContext {
  const FrameworkWays* ways = nullptr;            ///< nullptr: it runs any plan
  parallel_time::ParallelQuestion training = {};  ///< with the framework
  std::vector<SizedJob> jobs = {};                ///< by number of GPUs
  parallel::StateBytes bytes = {};
  memory::Implementation way = {};
  [[nodiscard]] const SizedJob& job(int gpus) const;
};

/// All that the plans of a search have in common. What it views outlives it.
struct SearchContext {
  const SearchQuestion* question = nullptr;
  const parallel_time::WaitingConstants* waiting = nullptr;
  std::vector<FrameworkContext> frameworks = {};
  parallel::NetworkFacts facts = {};
};

/// By how much a whole training takes more than its limits: 0.1 for 10 %; 0 or less within them.
/// `seconds` is of an iteration on the job's GPUs.
double excess_of(const WholeTraining& whole, const SizedJob& job, double seconds);

/// Visits all plans of splits, by all frameworks. Each plan is checked by faults(), then for
/// memory, then timed as predict_plan() does. Plans that share states, activations, pipelines, or
/// the times of layers and tables compute them once. Of recomputed blocks only the smallest that
/// fits is timed, since larger ones are slower. A pipeline gets the lower bound of its closed form
/// first. It is simulated if the plan would then count in the answer, so that the search keeps what
/// it would keep if it simulated all.
class SplitSearch {
 public:
  SplitSearch(const SearchContext& context, Reduction& found)
      : context_(&context), question_(context.question), found_(&found) {}
  void visit(const Split& split);

 private:
  /// Makespans of a pipeline: the least that it can be, and its own once it is simulated.
  struct Makespan {
    std::optional<Seconds> least;
    std::optional<Seconds> own;
  };
  /// Times that plans share whose recomputation and sharding of weights are alike.
  struct Parts {
    parallel::Recompute recompute;
    double recompute_share;
    parallel_time::LayerTime layer;
    parallel_time::TableTime tables;
    std::vector<Makespan> makespans;  ///< by pipeline
  };
  struct ShardedStates {
    Sharding sharding;
    std::vector<memory::StageMemory> states;
  };
  /// Memory beside states of the plans of a pipeline; empty: not computed.
  struct PipelineMemory {
    std::vector<memory::StageMemory> rest;
    std::vector<memory::StageMemory> rest_of_operators;
    std::vector<std::vector<memory::StageMemory>> rest_of_blocks;  ///< by recomputed layers
  };

  void visit_framework(const Split& split);
  void visit_experts(const Split& split);
  void visit_micro_batch();
  void visit_recompute(parallel::Recompute recompute);
  void visit_plan(const ShardedStates& states, PipelineMemory& memory);
  void visit_block(const ShardedStates& states, PipelineMemory& memory);
  void set(const Sharding& sharding);
  void set(const Pipeline& pipeline);
  void keep_states(const Split& split);
  void keep_running();
  bool choose_compile();
  bool choose_overlap();
  [[nodiscard]] bool runs() const;
  [[nodiscard]] bool fits(const ShardedStates& states, PipelineMemory& memory);
  [[nodiscard]] double waits(const ShardedStates& states,
                             std::span<const memory::StageMemory> beside) const;
  std::vector<memory::StageMemory>& rest(PipelineMemory& memory) const;
  [[nodiscard]] double excess() const;
  template <class Make>
  Parts& known_parts(std::vector<Parts>& known, const parallel_time::PlanSizes& sizes, Make make);
  Parts& shared_parts(const parallel_time::PlanSizes& sizes);
  Seconds least_makespan(const parallel_time::PlanSizes& sizes,
                         const parallel_time::IterationTime& time);
  Seconds own_makespan(const parallel_time::PlanSizes& sizes,
                       const parallel_time::IterationTime& time);
  void set(const parallel_time::PlanSizes& sizes, const parallel_time::IterationTime& time);
  [[nodiscard]] double over_limits() const;
  [[nodiscard]] double over_limits(const parallel_time::PlanSizes& sizes) const;
  [[nodiscard]] bool may_count() const;
  void time_plan();

  const SearchContext* context_;
  const SearchQuestion* question_;
  Reduction* found_;
  const FrameworkContext* framework_ = nullptr;
  const SizedJob* job_ = nullptr;
  PlanPoint at_;
  double waits_ = 1;  ///< factor on its time by waits for memory
  std::vector<Pipeline> pipelines_;
  std::vector<int> micro_batches_;
  std::vector<StageRange> stages_;  ///< that may need most memory
  memory::LibraryMemory libraries_;
  std::vector<ShardedStates> states_;
  std::vector<std::size_t> running_;  ///< pipelines without faults for the micro-batch at hand
  std::size_t pipeline_ = 0;          ///< the one at hand
  std::vector<std::optional<Makespans>> makespans_;  ///< by pipeline, for the micro-batch at hand
  std::vector<Parts> whole_;                         ///< of plans that keep whole weights
  std::vector<Parts> bare_;     ///< of plans that shard weights, without gathers
  std::vector<Parts> sharded_;  ///< of plans that shard weights over the group at hand
};

}  // namespace dlscale::model::parallel_search
