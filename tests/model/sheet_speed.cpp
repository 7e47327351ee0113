// How fast a training is predicted from a data sheet, on one core: the part of dlscale_model_speed
// that --benchmark_filter='sheet' runs.
#include <benchmark/benchmark.h>

#include <string>

#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model::sheet {
namespace {

/// An iteration of a network on an H100 with batches that change, so that nothing is known before.
void sheet_iteration(benchmark::State& state, const std::string& name) {
  const Network network = load_network(name);
  const Device device = nominal_device(load_device_sheet("h100_sxm5_80gb"), fitted_launch);
  ComputeTraits traits = usual_traits(family_of(network));
  traits.stated = true;
  Run run;
  run.dtype = DType::bf16;
  constexpr int least = 8;
  constexpr int batches = 57;
  int count = 0;
  for (auto _ : state) {
    run.batch = least + count++ % batches;
    StepTimes times(network, device, run, traits, nominal_constants());
    Seconds all = update_time(update_work(network), device, run, traits, nominal_constants());
    for (const Step step : forward_steps(network)) all += times.time(step);
    for (const Step step : backward_steps(network)) all += times.time(step);
    benchmark::DoNotOptimize(all);
  }
}

BENCHMARK_CAPTURE(sheet_iteration, resnet50, std::string("resnet50"));
BENCHMARK_CAPTURE(sheet_iteration, bert_large, std::string("bert_large"));
BENCHMARK_CAPTURE(sheet_iteration, gpt3_175b, std::string("gpt3_175b"));

}  // namespace
}  // namespace dlscale::model::sheet
