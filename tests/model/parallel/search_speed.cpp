// How many parallel plans a second one core searches: the part of dlscale_model_speed that
// --benchmark_filter=parallel_search runs.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/network/network.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/search/search.hpp"

namespace dlscale::model::parallel_search {
namespace {

/// Items: plans that were timed, or seen not to fit.
void parallel_search(benchmark::State& state, const std::string& network, int gpus,
                     const std::string& framework) {
  SearchQuestion question;
  question.training.shape = memory::transformer_shape(load_network(network));
  question.training.global_batch = gpus;
  question.training.framework = framework;
  question.ways = ways_of(framework);
  question.gpus = {gpus};
  const Cluster cluster = load_cluster("dgx_h100");
  std::size_t plans = 0;
  for (auto _ : state) {
    const PlanSearch found = search_plans(parallel_time::parallel_times(), cluster, question, 1);
    plans += found.timed + found.missed;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(plans));
}

BENCHMARK_CAPTURE(parallel_search, llama3_70b_512, "llama3_70b", 512, "Megatron-LM")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, llama3_70b_1024, "llama3_70b", 1024, "Megatron-LM")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, llama3_70b_1024_any, "llama3_70b", 1024, "")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, mixtral_8x7b_1024_any, "mixtral_8x7b", 1024, "")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlscale::model::parallel_search
