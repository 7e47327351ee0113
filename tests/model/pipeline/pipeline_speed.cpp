// How fast pipelines are listed and timed, on one core: the part of dlscale_model_speed that
// --benchmark_filter='pipeline' runs.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/parallel/schedule/check_schedule.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {
namespace {

constexpr parallel::PipelineShape shape{16, 2, 128};

PipelineCosts unequal_costs() {
  PipelineCosts costs;
  for (int part = 0; part < shape.parts(); ++part) {
    costs.forward.emplace_back(1 + 0.1 * (part % 3));
    costs.backward.push_back(2 * costs.forward.back());
    if (part > 0) costs.boundary.emplace_back(0.1);
  }
  return costs;
}

void count(benchmark::State& state, const parallel::Schedule& schedule) {
  std::size_t operations = 0;
  for (const std::vector<parallel::Operation>& rank : schedule.ranks) operations += rank.size();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(operations));
}

/// Items are operations.
void pipeline_lists(benchmark::State& state) {
  const parallel::PipelineSchedule& member = parallel::find_schedule("interleaved");
  for (auto _ : state) benchmark::DoNotOptimize(member.schedule(shape));
  count(state, member.schedule(shape));
}
void pipeline_check(benchmark::State& state) {
  const parallel::Schedule schedule = parallel::find_schedule("interleaved").schedule(shape);
  for (auto _ : state) parallel::check_schedule(schedule, parallel::Delivery::eager);
  count(state, schedule);
}
void pipeline_simulation(benchmark::State& state) {
  const parallel::Schedule schedule = parallel::find_schedule("interleaved").schedule(shape);
  const PipelineCosts costs = unequal_costs();
  for (auto _ : state) benchmark::DoNotOptimize(simulate(schedule, costs));
  count(state, schedule);
}

/// Items are plans.
void pipeline_closed_form(benchmark::State& state) {
  const parallel::PipelineSchedule& member = parallel::find_schedule("interleaved");
  const PipelineCosts costs = unequal_costs();
  for (auto _ : state) benchmark::DoNotOptimize(closed_form(member, shape, costs));
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(pipeline_lists);
BENCHMARK(pipeline_check);
BENCHMARK(pipeline_simulation);
BENCHMARK(pipeline_closed_form);

}  // namespace
}  // namespace dlscale::model
