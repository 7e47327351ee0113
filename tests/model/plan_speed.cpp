// How fast the batched closed form and plans are, on one core: the part of dlscale_model_speed that
// --benchmark_filter='sweep|plan' runs.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>
#include <vector>

#include "model/plan/batched_form.hpp"
#include "model/plan/placed_messages.hpp"
#include "model/plan/training_plan.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/time_to_train.hpp"

namespace dlscale::model {
namespace {

using Speed = benchmark::State;

Run run_on(const Machine& machine, int ranks) {
  Run run;
  run.network = "any";
  run.cluster = machine.cluster.name;
  run.ranks = ranks;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.batch = 32;
  run.loader_threads = 4;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  return run;
}

Profile profile_on(const std::string& network, const Machine& machine) {
  Notes notes;
  const Network loaded = load_network(network);
  return profile_of(without_delays(iteration_costs(loaded, machine, run_on(machine, 4), notes))
                        .plan({}, Bound::value));
}

/// A sweep over ranks, bandwidths and latencies: so many lines of messages.
struct SweptLines {
  std::vector<double> startup;
  std::vector<double> per_byte;
  std::vector<double> none;
};

SweptLines swept_lines(Machine machine) {
  SweptLines lines;
  for (int link = 0; link < 64; ++link) {
    machine.cluster.inter_node.bandwidth = BytesPerSecond(1e9 * (1 + link % 8));
    machine.cluster.inter_node.latency = Seconds(1e-6 * (1 + link / 8));
    for (int ranks = 2; ranks < 1026; ++ranks) {
      const auto line = nominal_lines(machine, {ranks, machine.cluster.devices_per_node}).front();
      lines.startup.push_back(line.a.si());
      lines.per_byte.push_back(line.b.si());
    }
  }
  lines.none.resize(lines.startup.size());
  return lines;
}

void count(Speed& state, std::size_t configurations) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(configurations));
}

/// One message a layer, the most there are.
void wait_free_sweep(Speed& state, const std::string& network) {
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const Profile profile = profile_on(network, machine);
  const SweptLines lines = swept_lines(machine);
  std::vector<double> found(lines.startup.size());
  for (auto _ : state) {
    const Cut cut = cut_singly(profile.gradients);
    const BatchedForm form(profile, cut, Travel::beside_backward);
    form.iterations({lines.startup, lines.per_byte, lines.none, lines.none}, found);
    benchmark::DoNotOptimize(found.data());
  }
  count(state, found.size());
}

/// Groups of their own for each configuration.
void merged_sweep(Speed& state, const std::string& network) {
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const Profile profile = profile_on(network, machine);
  const SweptLines lines = swept_lines(machine);
  MergedCuts cuts;
  std::size_t next = 0;
  for (auto _ : state) {
    next = (next + 1) % lines.startup.size();
    const LinearCost cost{Seconds(lines.startup[next]), SecondsPerByte(lines.per_byte[next])};
    const double finish = backward_with_groups(profile, cuts.optimal(profile, cost), cost, 0);
    benchmark::DoNotOptimize(finish);
  }
  count(state, 1);
}

/// The whole path of dlscale plan but for reading files: 1024 numbers of ranks, 32 batches, 32
/// exchanges.
void plan_of_a_million(Speed& state, const std::string& network_name) {
  const Network network = load_network(network_name);
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  PlanQuestion question;
  for (int ranks = 1; ranks <= 1024; ++ranks) question.space.ranks.push_back(ranks);
  for (int batch = 2; batch <= 64; batch += 2) question.space.batches.push_back(batch);
  question.space.exchanges = {
      {Schedule::sequential}, {Schedule::wait_free}, {Schedule::merged_greedy}, {Schedule::merged}};
  for (int size = 1; size <= 28; ++size) {
    question.space.exchanges.push_back({Schedule::bucketed, Bytes(1048576.0 * size)});
  }
  question.length = {90, imagenet_images};
  const Run run = run_on(machine, 1);
  for (auto _ : state) {
    const TrainingPlan plan = plan_training(network, machine, run, question);
    benchmark::DoNotOptimize(plan.within_limits);
  }
  count(state, question.space.size());
}

BENCHMARK_CAPTURE(wait_free_sweep, resnet50, std::string("resnet50"));
BENCHMARK_CAPTURE(wait_free_sweep, alexnet, std::string("alexnet"));
BENCHMARK_CAPTURE(merged_sweep, resnet50, std::string("resnet50"));
BENCHMARK_CAPTURE(plan_of_a_million, resnet50, std::string("resnet50"))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_of_a_million, alexnet, std::string("alexnet"))
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dlscale::model
