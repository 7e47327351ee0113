#pragma once
#include "core/cluster/cluster.hpp"
#include "model/parallel/search/search.hpp"
#include "model/parallel/search/split_search.hpp"

namespace dlscale::model::parallel_search {

/// Predicts plans that a search found. What it views outlives it.
class FoundPlans {
 public:
  FoundPlans(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
             const SearchContext& context)
      : file_(&file), cluster_(&cluster), context_(&context) {}
  /// The plan by predict_plan(), which simulates pipelines. It states the overlap of tensor
  /// messages that its framework takes by itself, so that its text is the same plan by any
  /// framework.
  [[nodiscard]] FoundPlan predicted(const PlanPoint& point) const;
  /// Adds what the whole training takes, if one is asked for. Throws ConfigError as
  /// goodput::training_cost() does.
  void add_whole(FoundPlan& found) const;
  /// By how much the whole training takes more than its limits; 0 or less within them.
  [[nodiscard]] double excess(const FoundPlan& found) const;
  [[nodiscard]] const SearchQuestion& question() const { return *context_->question; }

 private:
  [[nodiscard]] const FrameworkContext& framework_of(int framework) const {
    return context_->frameworks[static_cast<std::size_t>(framework)];
  }
  const parallel_time::ParallelTimeFile* file_;
  const Cluster* cluster_;
  const SearchContext* context_;
};

/// Fills the plans of an answer from what a search kept. Of the best plans, those stay that keep to
/// the limits of the whole training by predict_plan(), too.
void fill(const FoundPlans& plans, const Reduction& found, PlanSearch& search);

}  // namespace dlscale::model::parallel_search
