#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/framework_file.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/iteration_grid.hpp"
#include "model/published/scaling/facts/framework_traits.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"

/// Parameter servers by data sheets, and messages that travel beside a whole iteration.
namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

/// Update 1 s, forward 2 s, backward 3 s in two parts.
IterationPlan plan_with(Seconds others, Seconds last) {
  IterationPlan plan;
  plan.input_copy = InputCopy::ahead;
  plan.forward = LaunchedWork(Seconds(2));
  plan.backward = {{LaunchedWork(Seconds(1)), {}}, {LaunchedWork(Seconds(2)), {}}};
  plan.update = LaunchedWork(Seconds(1));
  plan.meeting = Seconds(0.5);
  plan.running = RunningExchange{others, last};
  return plan;
}

TEST(RunningExchange, TakesComputingOrMostMessagesAndThenTheLast) {
  for (const double others : {0.0, 0.5, 2.0, 5.5, 6.0, 9.0}) {
    const double wanted = std::max(6.0, others) + 0.25 + 0.5;
    const IterationPlan plan = plan_with(Seconds(others), Seconds(0.25));
    const IterationTime simulated = simulate_iteration(plan);
    EXPECT_NEAR(simulated.total.si(), wanted, 1e-9) << others;
    std::string why;
    const std::optional<IterationTime> form = closed_form(plan, why);
    ASSERT_TRUE(form) << why;
    EXPECT_NEAR(form->total.si(), wanted, 1e-9) << others;
    EXPECT_NEAR((form->exposed_comm - simulated.exposed_comm).si(), 0, 1e-9) << others;
    EXPECT_NEAR((form->hidden_comm - simulated.hidden_comm).si(), 0, 1e-9) << others;
  }
}

TEST(RunningExchange, SlowsComputingDownWhileItTravels) {
  for (const double others : {0.5, 2.0, 5.0, 9.0}) {
    IterationPlan plan = plan_with(Seconds(others), Seconds(0.25));
    constexpr double share = 0.4;
    plan.contention.emplace_back().fill({1 + share, 1 + share});
    for (BackwardPart& part : plan.backward) {
      part.compute = LaunchedWork::step({}, part.compute.device, WorkKind::conv);
    }
    plan.forward = LaunchedWork::step({}, plan.forward.device, WorkKind::conv);
    plan.update = LaunchedWork::step({}, plan.update.device, WorkKind::copy);
    const double hidden = std::min(others, 6.0);
    const double wanted = std::max(6.0, others) + share * hidden + 0.25 + 0.5;
    EXPECT_NEAR(simulate_iteration(plan).total.si(), wanted, 1e-9) << others;
    std::string why;
    const std::optional<IterationTime> form = closed_form(plan, why);
    ASSERT_TRUE(form) << why;
    EXPECT_NEAR(form->total.si(), wanted, 1e-9) << others;
  }
}

Machine served_machine(const std::string& cluster, const std::string& framework) {
  Machine machine = nominal_machine(load_cluster(cluster));
  machine.exchange_traits = scaling::traits_of(load_framework(framework));
  return machine;
}

TrainingRun run_on(const Machine& machine, const std::string& network) {
  TrainingRun run;
  run.network = network;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.batch = 32;
  run.input_copy = InputCopy::ahead;
  run.loader_threads = 4;
  run.synchronisation = Synchronisation::parameter_server;
  return run;
}

Seconds total_of(const Machine& machine, const TrainingRun& run, int gpus) {
  const int ranks[] = {gpus};
  return predict(load_network(run.network), machine, run, ranks).front().time.total;
}

TEST(SheetLinks, PassNoMoreThanTheStatedShareOfTheLine) {
  Machine machine = nominal_machine(load_cluster("k80x16_10gbe"));
  const auto per_byte = [&] { return sheet_link_between(machine, {16, 4}).per_byte; };
  const SecondsPerByte usual = per_byte();
  machine.cluster.network->efficiency = 0.3;
  EXPECT_GT(per_byte() / usual, 2.5);
  machine.cluster.network->efficiency = 1;
  EXPECT_EQ(per_byte(), usual) << "more than the fitted share";
}

TEST(SheetServers, ArePlannedAsPredicted) {
  for (const char* framework : {"mxnet_0.10", "byteps_0.2"}) {
    Machine machine = served_machine("k80x16_10gbe", framework);
    EXPECT_EQ(machine.exchange_traits->eager, std::string(framework) == "byteps_0.2");
    const Network network = load_network("alexnet");
    TrainingRun run = run_on(machine, "alexnet");
    PlanSpace space{{2, 4, 8, 16}, {16, 32}, {}};
    for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
      space.exchanges.push_back(
          {.schedule = schedule, .synchronisation = Synchronisation::parameter_server});
    }
    const IterationGrid grid = iteration_grid(network, machine, run, space);
    EXPECT_EQ(grid.by_simulation, 0U);
    for (std::size_t e = 0; e < space.exchanges.size(); ++e) {
      for (std::size_t b = 0; b < space.batches.size(); ++b) {
        run.schedule = space.exchanges[e].schedule;
        run.batch = space.batches[b];
        for (std::size_t r = 0; r < space.ranks.size(); ++r) {
          EXPECT_NEAR(grid.at({e, b, r}) / total_of(machine, run, space.ranks[r]).si(), 1, 1e-6)
              << framework << ' ' << schedule_name(run.schedule) << ' ' << space.ranks[r];
        }
      }
    }
  }
}

TEST(SheetServers, TakeLongerWhereFewerNodesServeAndWhereEachGpuCalls) {
  const Machine machine = nominal_machine(load_cluster("p2_8xlarge"));
  TrainingRun run = run_on(machine, "resnet50");
  run.ranks = 64;
  run.settings.transport = Transport::grpc;
  run.settings.callers = Callers::nodes;
  run.settings.sharding = Sharding::tensorflow_greedy;
  const Network network = load_network("resnet50");
  const auto transfer = [&] { return sheet_servers(machine, run, network).transfer; };
  const Seconds by_all = transfer();
  run.settings.servers = 4;
  const Seconds by_half = transfer();
  // Half of the nodes carry i = (7 / 4 + 3 / 4) / (7 / 4) times what each of all would.
  EXPECT_GT(by_half / by_all, 1.2);
  EXPECT_LT(by_half / by_all, 1.5);
  run.settings.servers = 0;
  run.settings.callers = Callers::ranks;
  EXPECT_GT(transfer() / by_all, 5);
  EXPECT_LT(transfer() / by_all, 8);
}

TEST(SheetServers, TravelBesideBackwardAloneWhereNoFrameworkRunsGraphs) {
  const Machine machine = nominal_machine(load_cluster("p2_8xlarge"));
  TrainingRun run = run_on(machine, "resnet50");
  run.ranks = 16;
  run.settings.transport = Transport::grpc;
  run.settings.callers = Callers::nodes;
  EXPECT_FALSE(sheet_servers(machine, run, load_network("resnet50")).running);
  const Machine graphs = served_machine("p2_8xlarge", "tf_cnn_benchmarks_distributed_replicated");
  EXPECT_TRUE(sheet_servers(graphs, run, load_network("resnet50")).running);
  run.settings.transport = Transport::collectives;
  run.settings.callers = Callers::ranks;
  EXPECT_FALSE(exchanges_by_servers(machine, run)) << "ranks reduce and broadcast";
  EXPECT_TRUE(exchanges_by_servers(graphs, run));
}

}  // namespace
}  // namespace dlscale::model
