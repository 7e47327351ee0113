// How long predictions take, and how much memory: ResNet-152 with a message for each layer on
// 1,024 ranks, folded and not. Run it from a build for measuring, on a core of its own:
//   cmake --build build/release --target dlscale_model_speed
//   taskset -c 1 build/release/tests/model/dlscale_model_speed --benchmark_filter='folded|closed'
// The same program holds plan_speed.cpp.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/cluster_iteration.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"

namespace {

/// Of the heap, of all that operator new gave.
std::size_t bytes_now = 0;
std::size_t bytes_most = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  bytes_now += malloc_usable_size(memory);
  bytes_most = std::max(bytes_most, bytes_now);
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) bytes_now -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace dlscale::model {
namespace {

constexpr int ranks_per_node = 4;

/// The iteration of ResNet-152 from data sheets, with a message for each layer that has parameters.
IterationPlan plan_of(int ranks) {
  const Network network = load_network("resnet152");
  const Machine machine = nominal_machine(load_cluster("v100x16_ib100"));
  Run run;
  run.network = network.name();
  run.cluster = machine.cluster.name;
  run.ranks = ranks;
  run.ranks_per_node = ranks_per_node;
  run.batch = 32;
  run.loader_threads = 6;
  run.input_copy = InputCopy::ahead;
  run.schedule = Schedule::wait_free;
  Notes notes;
  return iteration_costs(network, machine, run, notes).plan({}, Bound::value);
}

void folded(benchmark::State& state) {
  const IterationPlan plan = plan_of(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    auto time = simulate_iteration(plan);
    benchmark::DoNotOptimize(&time);
  }
  state.counters["parts"] = static_cast<double>(plan.backward.size());
  state.counters["iteration_ms"] = 1e3 * simulate_iteration(plan).total.si();
}
BENCHMARK(folded)->Arg(1024)->Unit(benchmark::kMillisecond);

void closed(benchmark::State& state) {
  const IterationPlan plan = plan_of(static_cast<int>(state.range(0)));
  std::string why;
  for (auto _ : state) {
    auto time = closed_form(plan, why);
    benchmark::DoNotOptimize(&time);
  }
  state.counters["iteration_ms"] = 1e3 * closed_form(plan, why).value().total.si();
}
BENCHMARK(closed)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Four iterations, of which two count: with draws, graph and means.
void unfolded_with_stragglers(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const IterationPlan plan = plan_of(ranks);
  const CountedIterations counted{1, 2};
  const RankSpread spread{0.05};
  double total_s = 0;
  bytes_most = bytes_now;
  const std::size_t before = bytes_now;
  for (auto _ : state) {
    const ComputeFactors factors = drawn_factors(spread, ranks, 4, 1);
    const auto all = simulate_cluster(plan, {ranks, ranks_per_node}, factors, counted);
    total_s = all.total.si();
  }
  const auto bytes = static_cast<double>(bytes_most - before);
  state.counters["tasks"] = unfolded_tasks(plan, {ranks, ranks_per_node}, counted);
  state.counters["MB"] = bytes / 1e6;
  state.counters["kB_per_rank"] = bytes / 1e3 / ranks;
  state.counters["iteration_ms"] = 1e3 * total_s;
}
BENCHMARK(unfolded_with_stragglers)
    ->RangeMultiplier(4)
    ->Range(16, 1024)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlscale::model

BENCHMARK_MAIN();
