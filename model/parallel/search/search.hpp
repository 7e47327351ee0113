#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/parallel/answer/compared_plans.hpp"
#include "model/parallel/search/plan_point.hpp"
#include "model/parallel/search/question.hpp"

namespace dlscale::model::parallel_search {

/// Plans of a question at most: a search takes minutes beyond.
inline constexpr double most_searched = 3e7;

/// A plan of an answer: its GPUs, its framework, and what predict_plan() says of it.
struct FoundPlan {
  int gpus = 1;
  int framework = 0;  ///< of the question's
  parallel_time::AnsweredPlan answered;
  double joules = 0;  ///< of all GPUs in an iteration; 0: no power is known
  double score = 0;   ///< by which plans are ordered; of several frameworks as if all were fitted
  /// The whole training, where one is asked for: of the best plans and those of other GPUs.
  std::optional<goodput::TrainingCost> whole = {};
};

/// The best plan with one choice made otherwise, the others chosen anew: the next smaller and
/// larger value or, where values have no order, the best two.
struct PlanNeighbour {
  Choice choice = Choice::tensor;
  FoundPlan plan;
};

/// A plan that misses a limit by least.
struct FoundNearest {
  FoundPlan plan;
  double excess = 0;  ///< bytes, or how many times more a whole training takes
};

/// Plans are close if their score exceeds the best one's by at most this share. Errors of two plans
/// are mostly shared, so that the interval of one says little about their order. Plans that the
/// search put first were 4.2 to 4.6 % slower in the mean than the quickest of measured plans.
inline constexpr double close_share = 0.05;

/// The plans of a training, searched.
struct PlanSearch {
  std::string cluster;
  SearchQuestion question;
  /// The best plan, then the best of other splits of the GPUs, by score. Empty if nothing fits, or
  /// keeps to the limits.
  std::vector<FoundPlan> best = {};
  std::vector<PlanNeighbour> neighbours = {};
  /// Plans that no other beats in time and in memory at its high end, by time, up to twice the
  /// quickest; of one number of GPUs.
  std::vector<FoundPlan> memory_front = {};
  /// Plans that no other beats in time and energy, likewise, of all numbers of GPUs.
  std::vector<FoundPlan> energy_front = {};
  /// The quickest with each number of GPUs that no smaller number beats; of several numbers.
  std::vector<FoundPlan> gpu_front = {};
  std::size_t timed = 0;   ///< plans that fit
  std::size_t missed = 0;  ///< plans that do not fit
  /// Plans that fit and exceed the limits of the whole training. Where some keep to them, plans
  /// that cannot be the best are counted by their least times.
  std::size_t exceeded = 0;
  std::size_t simulated = 0;  ///< pipelines that were simulated; it varies with the threads
  std::size_t splits = 0;     ///< of which one plan or more fits and keeps to the limits
  /// Other splits whose best plan is within close_share of the best.
  std::size_t close = 0;
  /// Numbers of GPUs on which no plan fits and keeps to the limits, where plans do on others.
  std::vector<int> unfit = {};
  /// If no plan is the best: the one that exceeds the memory by least, if nothing fits, or the
  /// limits of the whole training.
  std::optional<FoundNearest> nearest_fit = {};
  std::optional<FoundNearest> nearest_limit = {};
  [[nodiscard]] const AskedFramework& framework_of(const FoundPlan& found) const {
    return question.frameworks[static_cast<std::size_t>(found.framework)];
  }
};

/// The conduct of a search, which changes no answer.
struct SearchWork {
  int threads = 1;  ///< ≥ 1
  /// Called now and then by the thread that called the search, with the visited share of plans,
  /// 0 … 1.
  std::function<void(double share)> progress = {};
};

/// Visits all plans of the question on GPUs of the cluster. Plans fit, and order, by the rules of
/// the question. Throws ConfigError for a cluster without GPUs of a data sheet, for more than
/// most_searched plans, if no plan can be at all, whatever its memory, for schedules that no
/// framework asked for runs, and for energy where the data sheet states no power.
PlanSearch search_plans(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                        const SearchQuestion& question, const SearchWork& work = {});

}  // namespace dlscale::model::parallel_search
