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

/// Items: plans whose memory was computed. Those that fit were timed, too: "timed" counts
/// them a second, by a bound or by one of "simulated" pipelines.
/// "any" stands for all frameworks, and no name for one that runs all plans.
void parallel_search(benchmark::State& state, const std::string& network, int gpus,
                     const std::string& framework) {
  SearchQuestion question;
  question.training.shape = memory::transformer_shape(load_network(network));
  question.training.global_batch = gpus;
  question.frameworks = {asked_framework(framework)};
  if (framework == "any") question.frameworks = all_frameworks();
  question.gpus = {gpus};
  const Cluster cluster = load_cluster("dgx_h100");
  std::size_t timed = 0;
  std::size_t missed = 0;
  std::size_t simulated = 0;
  for (auto _ : state) {
    const PlanSearch found = search_plans(parallel_time::parallel_times(), cluster, question);
    timed += found.timed;
    missed += found.missed;
    simulated += found.simulated;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(timed + missed));
  state.counters["simulated"] =
      benchmark::Counter(static_cast<double>(simulated), benchmark::Counter::kAvgIterations);
  state.counters["timed"] =
      benchmark::Counter(static_cast<double>(timed), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(parallel_search, llama3_70b_512, "llama3_70b", 512, "megatron")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, llama3_70b_512_any, "llama3_70b", 512, "any")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, llama3_70b_1024, "llama3_70b", 1024, "megatron")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, llama3_70b_1024_all_plans, "llama3_70b", 1024, "")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parallel_search, mixtral_8x7b_1024_all_plans, "mixtral_8x7b", 1024, "")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlscale::model::parallel_search
