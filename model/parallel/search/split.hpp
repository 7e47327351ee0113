#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/plan.hpp"
#include "model/parallel/search/question.hpp"

namespace dlscale::model::parallel_search {

/// A way to share GPUs among the axes of a plan: tensor · context · stages · data = gpus.
struct Split {
  int gpus = 1;
  int tensor = 1;
  int context = 1;
  int stages = 1;
  int data = 1;
};

/// Divisors of `number` ≥ 1, ascending.
std::vector<int> divisors(std::int64_t number);

/// Whether `value` is one of `values`, or there are none.
bool is_allowed(int value, const std::vector<int>& values);

/// All splits of `gpus` that the network and its batch can have (parallel::faults()), in order of
/// tensor, context and stages. `tensor` is at most `node_gpus` where the question names none.
std::vector<Split> splits(const SearchQuestion& question, int gpus, int node_gpus);

/// The layers of each of `stages` stages, which differ by one at most; empty if they are alike. The
/// first stages and the last one, which have more to keep or to compute, get the smaller number.
std::vector<int> balanced_layers(int layers, int stages);

/// A schedule with its parts.
struct Pipeline {
  std::string schedule = "1f1b";
  int chunks = 1;
  std::vector<int> stage_layers = {};  ///< empty: all alike
};

/// Schedules of a split that the question allows: one of one chunk each, and interleaved with as
/// many chunks as divide a stage's layers.
std::vector<Pipeline> pipelines(const SearchQuestion& question, const Split& split);

/// States that are sharded, and over which ranks.
struct Sharding {
  int zero = 0;
  int group = 0;  ///< 0: all replicas
};

/// All levels of ZeRO over all replicas, and over each number of ranks that divides them.
std::vector<Sharding> shardings(const SearchQuestion& question, const Split& split);

/// Groups of experts, ascending: divisors of the experts that divide data × context.
std::vector<int> expert_groups(const SearchQuestion& question, const Split& split);

/// Samples of a micro-batch, ascending: divisors of a replica's share of the batch.
std::vector<int> micro_batches(const SearchQuestion& question, const Split& split);

/// Plans of the split at most: frameworks do not run all, and of blocks one of a kind counts.
double most_plans(const SearchQuestion& question, const Split& split);

}  // namespace dlscale::model::parallel_search
