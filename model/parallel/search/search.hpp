#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "model/parallel/answer/compared_plans.hpp"
#include "model/parallel/search/plan_point.hpp"
#include "model/parallel/search/question.hpp"

namespace dlscale::model::parallel_search {

/// A plan of an answer: its GPUs, and what predict_plan() says of it.
struct FoundPlan {
  int gpus = 1;
  parallel_time::AnsweredPlan answered;
  double score = 0;       ///< by that time
  double searched_s = 0;  ///< the time that the search ordered it by
};

/// The best plan with one choice made otherwise, the others chosen anew: the next smaller and
/// larger value or, where values have no order, the best two.
struct PlanNeighbour {
  Choice choice = Choice::tensor;
  FoundPlan plan;
};

/// The plans of a training, searched.
struct PlanSearch {
  std::string cluster;
  SearchQuestion question;
  /// The best plan, then the best of other splits of the GPUs, by score. Empty if nothing fits.
  std::vector<FoundPlan> best = {};
  std::vector<PlanNeighbour> neighbours = {};
  /// Plans that no other beats in score and in memory at its high end, by score, up to twice the
  /// best; of one number of GPUs.
  std::vector<FoundPlan> memory_front = {};
  /// The quickest with each number of GPUs that no smaller number beats; of several numbers.
  std::vector<FoundPlan> gpu_front = {};
  std::size_t timed = 0;
  std::size_t missed = 0;  ///< plans that do not fit
  std::size_t splits = 0;  ///< of which one plan or more fits
  /// Other splits whose best plan is at most as slow as the high end of the best plan.
  std::size_t alike = 0;
  /// Numbers of GPUs on which no plan fits, where plans fit on others.
  std::vector<int> unfit = {};
  /// The plan that exceeds the memory by least, where none fits, and by how many bytes.
  std::optional<FoundPlan> nearest = {};
  double nearest_excess = 0;
};

/// Visits all plans of the question on GPUs of the cluster, on `threads` ≥ 1 threads; their number
/// changes no answer. Plans fit, and order, by the rules of the question. Throws ConfigError for a
/// cluster without GPUs of a data sheet, and if no plan can be at all, whatever its memory.
PlanSearch search_plans(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                        const SearchQuestion& question, int threads);

}  // namespace dlscale::model::parallel_search
