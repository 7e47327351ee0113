#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/iteration_grid.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"

/// Iterations by data sheets on several devices: their phases, plans and intervals. Against the
/// model that is scored on published trainings they are held by sheet_cases_test.cpp.
namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

struct Question {
  std::string cluster;
  std::string network;
  Schedule schedule;
  int batch = 32;
};

Machine sheets_of(const std::string& cluster) {
  Machine machine = nominal_machine(load_cluster(cluster));
  machine.loaders.front().decode = {};
  machine.cluster.storage = {};
  return machine;
}

TrainingRun run_of(const Machine& machine, const Question& question) {
  TrainingRun run;
  run.network = question.network;
  run.cluster = question.cluster;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.batch = question.batch;
  run.schedule = question.schedule;
  run.input_copy = InputCopy::ahead;
  return run;
}

TEST(SheetIterations, SendAllAfterBackwardWhereNothingOverlaps) {
  const Machine machine = sheets_of("v100x16_ib100");
  const Network network = load_network("resnet50");
  TrainingRun run = run_of(machine, {"v100x16_ib100", "resnet50", Schedule::sequential});
  const int ranks[] = {1, 16};
  const auto predictions = predict(network, machine, run, ranks);
  const Seconds alone = predictions.front().time.total;
  const Bytes gradients(4.0 * static_cast<double>(network.parameter_count()));
  const Placement placement{16, run.ranks_per_node};
  const SheetMessages messages = sheet_messages(machine, placement);
  const SheetDelays delays = sheet_delays(machine, placement, network);
  double count = 0;
  for (const Layer& layer : network.layers()) count += layer.parameter_count() > 0 ? 1 : 0;
  const Seconds wanted = (1 + delays.waiting) * alone + count * messages.start +
                         gradients * messages.per_byte + delays.meeting;
  EXPECT_NEAR(predictions.back().time.total / wanted, 1, 1e-9);
}

TEST(SheetIterations, ArePhasesOfTheMeanRankAndWaitsForTheSlowest) {
  const Machine machine = sheets_of("summit");
  TrainingRun run = run_of(machine, {"summit", "resnet50", Schedule::bucketed});
  const int ranks[] = {1, 96};
  const auto predictions = predict(load_network("resnet50"), machine, run, ranks);
  const IterationTime& alone = predictions.front().time;
  const IterationTime& many = predictions.back().time;
  EXPECT_NEAR(many.forward / alone.forward, 1, 1e-9);
  EXPECT_NEAR(many.update / alone.update, 1, 1e-9);
  EXPECT_GT(many.backward, alone.backward) << "messages cost it time";
  const Seconds sum =
      many.io + many.h2d + many.forward + many.backward + many.exposed_comm + many.update;
  EXPECT_NEAR(sum / many.total, 1, 1e-9);
}

TEST(SheetIterations, HaveClosedForms) {
  const Machine machine = sheets_of("dgx_h100");
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
    const int ranks[] = {8, 64};
    const TrainingRun run = run_of(machine, {"dgx_h100", "vgg16", schedule});
    for (const Prediction& p : predict(load_network("vgg16"), machine, run, ranks)) {
      ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
      EXPECT_NEAR(p.closed_form->total / p.time.total, 1, 1e-6) << schedule_name(schedule);
      EXPECT_NEAR(p.closed_form->exposed_comm / p.time.total, p.time.exposed_comm / p.time.total,
                  1e-6);
    }
  }
}

TEST(SheetIterations, ArePlannedAsPredicted) {
  const Machine machine = sheets_of("v100x16_ib100");
  const Network network = load_network("resnet50");
  PlanSpace space;
  space.ranks = {1, 2, 4, 8, 16};
  space.batches = {16, 32};
  for (const Schedule schedule :
       {Schedule::sequential, Schedule::wait_free, Schedule::bucketed, Schedule::merged}) {
    space.exchanges.push_back({schedule});
  }
  TrainingRun run = run_of(machine, {"v100x16_ib100", "resnet50", Schedule::wait_free});
  const IterationGrid grid = iteration_grid(network, machine, run, space);
  EXPECT_EQ(grid.by_simulation, 0U);
  for (std::size_t e = 0; e < space.exchanges.size(); ++e) {
    for (std::size_t b = 0; b < space.batches.size(); ++b) {
      run.schedule = space.exchanges[e].schedule;
      run.batch = space.batches[b];
      const auto predictions = predict(network, machine, run, space.ranks);
      for (std::size_t r = 0; r < space.ranks.size(); ++r) {
        EXPECT_NEAR(grid.at({e, b, r}) / predictions[r].time.total.si(), 1, 1e-6)
            << schedule_name(run.schedule) << ' ' << space.ranks[r];
      }
    }
  }
}

/// The interval of a speed-up is that of scaling alone.
TEST(SheetIterations, HaveSpeedUpsWithoutTheErrorOfComputing) {
  const Machine machine = sheets_of("dgx_h100");
  const int ranks[] = {1, 8};
  const TrainingRun run = run_of(machine, {"dgx_h100", "resnet50", Schedule::bucketed});
  const auto predictions = predict(load_network("resnet50"), machine, run, ranks);
  EXPECT_EQ(predictions.front().speedup_low, 1);
  EXPECT_EQ(predictions.front().speedup_high, 1);
  const Prediction& p = predictions.back();
  ASSERT_TRUE(p.low && p.high && p.speedup_low && p.speedup_high);
  EXPECT_LT(*p.speedup_low, p.speedup);
  EXPECT_GT(*p.speedup_high, p.speedup);
  EXPECT_GT(*p.speedup_low / p.speedup, p.time.total / *p.high);
  EXPECT_LT(*p.speedup_high / p.speedup, p.time.total / *p.low);
}

TEST(SheetIterations, TakeLinksOfNoStatedKindByTheirNames) {
  Machine machine = nominal_machine(load_cluster("dgx1"));
  machine.cluster.node.reset();
  machine.cluster.network.reset();
  machine.cluster.intra_node = {"NVLink 2", {}, 75.0_GBps, ""};
  machine.cluster.inter_node = {"Ethernet", {}, 3.125_GBps, ""};
  const scaling::TrainingFacts named = cluster_facts(machine, Placement{16, 8});
  EXPECT_EQ(named.node_fabric, scaling::NodeFabric::switched);
  EXPECT_EQ(named.cluster_fabric, scaling::ClusterFabric::tcp);
  EXPECT_TRUE(named.guesses.empty());
  machine.cluster.intra_node.name = machine.cluster.inter_node.name = "a link";
  EXPECT_EQ(cluster_facts(machine, Placement{16, 8}).guesses.size(), 2U);
}

/// Rings of a DGX-1, 25 GB/s each. No direct one passes five GPUs: rings lead through a GPU twice,
/// before NCCL 2.4 through the host.
TEST(SheetIterations, CrossAMeshByTheRingsThatPassTheDevices) {
  Machine machine = nominal_machine(load_cluster("dgx1"));
  const auto facts = [&](int ranks) { return cluster_facts(machine, Placement{ranks, 8}); };
  constexpr std::array rings{1, 2, 4, 2, 2, 4, 6};
  for (int ranks = 2; ranks <= 8; ++ranks) {
    EXPECT_EQ(facts(ranks).node_fabric, scaling::NodeFabric::switched) << ranks;
    EXPECT_NEAR(facts(ranks).node_bandwidth.si(), 25e9 * rings.at(ranks - 2U), 1) << ranks;
  }
  machine.exchange_traits.emplace().rings_only = true;
  EXPECT_EQ(facts(5).node_fabric, scaling::NodeFabric::pcie);
  EXPECT_NEAR(facts(8).node_bandwidth.si(), 150e9, 1);
  machine.exchange_traits->one_ring = true;
  EXPECT_NEAR(facts(8).node_bandwidth.si(), 25e9, 1);
}

}  // namespace
}  // namespace dlscale::model
