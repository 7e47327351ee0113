#pragma once
#include <optional>
#include <vector>

#include "model/memory/implementation.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/search/question.hpp"
#include "model/parallel/search/reduction.hpp"
#include "model/parallel/search/split.hpp"

namespace dlscale::model::parallel_search {

/// A number of GPUs, and all that times plans on them.
struct SizedJob {
  int gpus = 1;
  parallel_time::ParallelHardware hardware;
  parallel_time::Setting setting;
};

/// All that the plans of a search have in common. What it views outlives it.
struct SearchContext {
  const SearchQuestion* question = nullptr;
  std::vector<SizedJob> jobs = {};  ///< by number of GPUs
  parallel::NetworkFacts facts = {};
  parallel::StateBytes bytes = {};
  memory::Implementation way = {};
  /// Plans whose states alone exceed the device count as missing it by an unknown number of bytes.
  bool skips_by_states = true;
  [[nodiscard]] const SizedJob& job(int gpus) const;
};

/// Visits all plans of splits. Each plan is checked by faults(), then for memory, then timed as
/// predict_plan() does. Plans that share the times of layers and tables compute them once. Of
/// recomputed blocks only the smallest that fits is timed, since larger ones are slower. Pipelines
/// that predict_plan() simulates, of zero bubbles or uneven stages, get iteration_time() instead.
class SplitSearch {
 public:
  SplitSearch(const SearchContext& context, Reduction& found)
      : context_(&context), question_(context.question), found_(&found) {}
  void visit(const Split& split);

 private:
  struct Parts {
    parallel_time::LayerTime layer;
    parallel_time::TableTime tables;
  };
  struct CheckedSharding {
    Sharding sharding;
    bool is_hopeless = false;  ///< states alone exceed the device
  };

  void visit_experts(int experts);
  void visit_recompute(parallel::Recompute recompute);
  void visit_plan(const CheckedSharding& sharding);
  void visit_block(const CheckedSharding& sharding);
  [[nodiscard]] bool runs() const;
  [[nodiscard]] bool fits();
  [[nodiscard]] double excess() const;
  [[nodiscard]] Parts parts_of(const parallel_time::PlanSizes& sizes) const;
  const Parts& shared_parts(const parallel_time::PlanSizes& sizes);
  [[nodiscard]] parallel_time::PlanSizes sizes() const;
  void finish(const Parts& parts, const parallel_time::PlanSizes& sizes);

  const SearchContext* context_;
  const SearchQuestion* question_;
  Reduction* found_;
  const SizedJob* job_ = nullptr;
  PlanPoint at_;
  std::vector<Pipeline> pipelines_;
  std::vector<CheckedSharding> shardings_;
  std::optional<Parts> whole_;    ///< of plans that keep whole weights
  std::optional<Parts> sharded_;  ///< of plans that shard weights over the group at hand
};

}  // namespace dlscale::model::parallel_search
