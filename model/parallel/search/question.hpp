#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/plan.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/search/framework_ways.hpp"

namespace dlscale::model::parallel_search {

/// Values that plans may have, by key of parse_plan(); empty: all that are possible.
struct PlanChoices {
  std::vector<int> tensor = {};  ///< all: up to the GPUs of a node
  std::vector<int> context = {};
  std::vector<int> stages = {};
  std::vector<int> data = {};
  std::vector<int> experts = {};
  std::vector<int> chunks = {};
  std::vector<int> micro_batch = {};
  std::vector<int> zero = {};
  std::vector<int> zero_group = {};  ///< 0: all replicas
  std::vector<std::string> schedules = {};
  std::vector<int> sequence_parallel = {};  ///< 0 or 1
  std::vector<int> tensor_overlap = {};     ///< 0 or 1
  std::vector<int> compile = {};            ///< 0 or 1
  std::vector<parallel::Recompute> recompute = {};
};

/// Reads "tensor=8,micro_batch=1/2,recompute=none/full". Throws ConfigError for another key, a
/// value that is none of the key's, or a key that is there twice.
PlanChoices parse_choices(std::string_view text);

/// A plan counts as fitting if the high end of its memory fits, or if the prediction itself does.
enum class Fit { surely, likely };

/// The quantity that the best plan has least of.
enum class Objective {
  time,    ///< of an iteration
  cost,    ///< GPUs times the time of an iteration
  energy,  ///< of an iteration
};
Objective parse_objective(std::string_view name);  ///< throws ConfigError
std::string_view objective_name(Objective objective);
/// The quantity of a plan on `gpus` GPUs that takes `seconds` and `joules` for an iteration.
double score_of(Objective objective, int gpus, double seconds, double joules);

/// A framework whose plans are searched.
struct AskedFramework {
  std::string name = {};                ///< free text, which names a family; may be empty
  const FrameworkWays* ways = nullptr;  ///< nullptr: it runs any plan
  [[nodiscard]] std::string_view title() const { return ways != nullptr ? ways->title : name; }
};
/// A framework by its name, with the ways of ways_of().
AskedFramework asked_framework(std::string name);
/// All of framework_ways(), as of today.
std::vector<AskedFramework> all_frameworks();

/// A whole training, and what it may take. Its time is that with failures, by
/// goodput::training_cost().
struct WholeTraining {
  double tokens = 1;               ///< > 0
  std::optional<double> price;     ///< of a GPU for an hour, > 0
  std::optional<Seconds> longest;  ///< > 0
  std::optional<double> dearest;   ///< > 0; needs `price`
};

/// All plans of a training.
struct SearchQuestion {
  parallel_time::ParallelQuestion training = {};  ///< by each of `frameworks`, not its own
  std::vector<int> gpus = {};                     ///< ≥ 1 number, ascending
  /// ≥ 1: each plan is one of such a framework, and timed as that runs it.
  std::vector<AskedFramework> frameworks = {};
  PlanChoices choices = {};
  Fit fit = Fit::surely;
  Objective objective = Objective::time;
  std::optional<WholeTraining> whole = {};
};

}  // namespace dlscale::model::parallel_search
