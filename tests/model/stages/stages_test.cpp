#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/parts/network_parts.hpp"
#include "model/parallel/parts/part_memory.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/strong_scaling.hpp"
#include "tests/model/stages/staged.hpp"

namespace dlscale::model {
namespace {

using test::Staged;

/// What the schedule takes without sums of gradients.
Seconds pipeline_alone(const StagedTraining& training) {
  const StagedParts& parts = training.parts;
  return parts.computing + parts.unequal + parts.bubble + parts.messages + parts.strips;
}

Seconds sum_of(const StagedParts& parts) {
  return parts.computing + parts.unequal + parts.bubble + parts.messages + parts.strips +
         parts.exchange + parts.input;
}

/// A chain of ReLUs with a shortcut from the first convolution to the sum.
Network with_shortcut() {
  return {
      "shortcut",
      {3, 8, 8},
      {{"conv", Convolution{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1}, {"input"}},
       {"relu1", Relu{}, {"conv"}},
       {"relu2", Relu{}, {"relu1"}},
       {"sum", Sum{}, {"conv", "relu2"}},
       {"fc", FullyConnected{10}, {"sum"}},
       {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

TEST(Stages, AShortcutTravelsOncePerCrossing) {
  const std::vector<double> crossing = crossing_elements(with_shortcut());
  const double map = 4 * 8 * 8;
  EXPECT_EQ(crossing, (std::vector<double>{3 * 8 * 8, map, 2 * map, 2 * map, map, 10, 0}));
}

TEST(Stages, OneStageIsDataParallelism) {
  for (const char* cluster : {"p40x16", "v100x16_ib100", "dgx1"}) {
    for (const char* network : {"resnet50", "vgg16", "googlenet"}) {
      Staged one(network, cluster);
      for (const int ranks : {1, 4, 8}) {
        for (const Schedule schedule :
             {Schedule::sequential, Schedule::wait_free, Schedule::bucketed, Schedule::horovod}) {
          // Cycles of Horovod drift against the iteration.
          const double within = schedule == Schedule::horovod ? 0.015 : 0.005;
          one.run.schedule = schedule;
          one.plan.data = ranks;
          const StagedTraining staged = one.predict(32L * ranks);
          const Prediction known =
              predict_strong(one.network, nominal_machine(one.cluster), one.run, std::vector{ranks},
                             32L * ranks, RankSpread{})
                  .rows.front();
          EXPECT_NEAR(staged.total / known.time.total, 1, within)
              << cluster << ' ' << network << ' ' << ranks << ' ' << schedule_name(schedule);
          EXPECT_NEAR(staged.speedup / known.speedup, 1, within);
          EXPECT_NEAR(staged.low() / *known.low, 1, 2 * within);
          EXPECT_NEAR(staged.high() / *known.high, 1, 2 * within);
          EXPECT_NEAR(staged.speedup_low() / *known.speedup_low, 1, 2 * within);
          EXPECT_NEAR(staged.speedup_high() / *known.speedup_high, 1, 2 * within);
        }
      }
    }
  }
}

TEST(Stages, OneStageNeedsTheMemoryOfARank) {
  for (const char* name : {"resnet50", "vgg16", "resnet110_v2", "amoebanet_d"}) {
    Staged one(name, "dgx1");
    const StagedTraining staged = one.predict(16);
    dlscale::Run run = one.run;
    run.batch = 16;
    const MemoryNeed need = memory_need(one.network, DeviceKind::gpu, run);
    ASSERT_EQ(staged.memory.size(), 1U);
    EXPECT_NEAR(staged.need(0).bytes / need.total().si(), 1, 1e-9) << name;
    EXPECT_NEAR(staged.memory.front().kept / need.kept, 1, 1e-9) << name;
    EXPECT_LT(staged.need(0).low, staged.need(0).bytes) << name;
    EXPECT_GT(staged.need(0).high, staged.need(0).bytes) << name;
  }
}

TEST(Stages, ClosedFormsBoundTheSimulation) {
  Staged four("resnet50", "dgx1");
  four.plan.stages = 4;
  four.plan.data = 2;
  for (const auto* member : family<parallel::PipelineSchedule>().members) {
    const parallel::PipelineSchedule& schedule = *member;
    four.plan.schedule = schedule.name;
    four.plan.chunks = schedule.name == "interleaved" ? 2 : 1;
    for (const int micro_batches : {2, 4, 8}) {
      four.plan.micro_batches = micro_batches;
      const parallel::PipelineShape shape{4, four.plan.chunks, micro_batches};
      if (!obstacle(schedule, shape).empty()) continue;
      const StagedTraining staged = four.predict(128);
      const double time = pipeline_alone(staged).si();
      const std::string what = four.plan.schedule + " " + std::to_string(micro_batches);
      EXPECT_LE(staged.bounds.lower.si(), time * (1 + 1e-9)) << what;
      EXPECT_GE(staged.bounds.upper.si(), time * (1 - 1e-9)) << what;
      if (schedule.name == "gpipe" || schedule.name == "basic") {
        EXPECT_NEAR(staged.bounds.lower.si(), time, 1e-9 * time) << what;
        EXPECT_TRUE(staged.bounds.is_exact()) << what;
      }
      EXPECT_NEAR(sum_of(staged.parts).si(), staged.total.si(), 1e-9 * time) << what;
    }
  }
}

TEST(Stages, PartsOfTheTimeAreNotNegative) {
  for (const char* name : {"resnet101", "densenet121", "amoebanet_d"}) {
    Staged staged(name, "p40x16");
    for (const int stages : {1, 2, 4, 8}) {
      staged.plan.stages = stages;
      staged.plan.data = 16 / stages;
      staged.plan.micro_batches = 4;
      const StagedTraining training = staged.predict(256);
      const StagedParts& parts = training.parts;
      for (const Seconds time : {parts.computing, parts.unequal, parts.bubble, parts.messages,
                                 parts.exchange, parts.input}) {
        EXPECT_TRUE(std::isfinite(time.si()) && time.si() >= -1e-12) << name << ' ' << stages;
      }
      EXPECT_EQ(static_cast<int>(training.layers.size()), stages);
      EXPECT_EQ(std::accumulate(training.layers.begin(), training.layers.end(), 0) + 1,
                static_cast<int>(staged.network.layers().size()));
      EXPECT_LE(training.efficiency, 1 + 1e-9);
    }
  }
}

TEST(Stages, FasterLinksAndMemoryNeverTakeLonger) {
  Staged slow("resnet101", "p40x16");
  slow.plan.stages = 4;
  slow.plan.data = 4;
  slow.plan.micro_batches = 8;
  const Seconds before = slow.predict(512).total;
  Staged links = slow;
  links.cluster.intra_node.bandwidth = 2 * links.cluster.intra_node.bandwidth;
  EXPECT_LE(links.predict(512).total, before);
  Staged nodes = slow;
  nodes.cluster.inter_node.bandwidth = 2 * nodes.cluster.inter_node.bandwidth;
  EXPECT_LE(nodes.predict(512).total, before);
  Staged memory = slow;
  memory.cluster.device.memory_bandwidth = 2 * memory.cluster.device.memory_bandwidth;
  EXPECT_LT(memory.predict(512).total, before);
}

TEST(Stages, RecomputingTakesTimeAndSavesMemory) {
  Staged staged("resnet101", "p40x16");
  staged.plan.stages = 4;
  staged.plan.micro_batches = 8;
  const StagedTraining kept = staged.predict(256);
  staged.plan.recompute = parallel::Recompute::block;
  staged.plan.recompute_layers = 20;
  const StagedTraining some = staged.predict(256);
  staged.plan.recompute = parallel::Recompute::full;
  staged.plan.recompute_layers = 0;
  const StagedTraining all = staged.predict(256);
  EXPECT_LT(kept.total, some.total);
  EXPECT_LT(some.total, all.total);
  EXPECT_GT(kept.memory.front().activations, some.memory.front().activations);
  EXPECT_GT(some.memory.front().activations, all.memory.front().activations);
}

/// Speed-ups of GEMS over MP-basic stay below (f + b) / max(f, b) and its value for S stages.
TEST(Stages, GemsIsOrderedAndBelowItsBound) {
  for (const int stages : {2, 4, 8}) {
    Staged staged("resnet110_v2", "dgx1");
    staged.plan.stages = stages;
    const auto time_of = [&](const char* schedule, int batches) {
      staged.plan.schedule = schedule;
      staged.plan.micro_batches = batches;
      return pipeline_alone(staged.predict(32L * batches)) / batches;
    };
    const Seconds basic = time_of("basic", 1);
    const Seconds mast = time_of("gems_mast", 2);
    const Seconds master = time_of("gems_master", 16);
    EXPECT_LT(mast, basic) << stages;
    EXPECT_LT(master, mast) << stages;
    staged.plan.schedule = "basic";
    staged.plan.micro_batches = 1;
    const PipelineCosts costs = staged.predict(32).costs;
    const auto total = [](const std::vector<Seconds>& times) {
      return std::accumulate(times.begin(), times.end(), Seconds());
    };
    const Seconds forward = total(costs.forward);
    const Seconds backward = total(costs.backward);
    const double bound = (forward + backward) / std::max(forward, backward);
    EXPECT_LE(basic / master, bound) << stages;
    EXPECT_GT(basic / master, 1) << stages;
  }
}

TEST(Stages, MemoryFallsWithStagesAndGemsHoldsTwoCopies) {
  Staged staged("resnet110_v2", "dgx1");
  Bytes before(1e15);
  for (const int stages : {1, 2, 4, 8}) {
    staged.plan.stages = stages;
    const StagedTraining training = staged.predict(64);
    Bytes most;
    for (const PartMemory& rank : training.memory) most = std::max(most, rank.total());
    EXPECT_LT(most, before) << stages;
    before = most;
  }
  staged.plan.stages = 4;
  staged.plan.schedule = "gems_mast";
  staged.plan.micro_batches = 2;
  staged.plan.stage_layers = staged.predict(128).layers;  // for both alike
  staged.plan.schedule = "basic";
  staged.plan.micro_batches = 1;
  const StagedTraining basic = staged.predict(64);
  staged.plan.schedule = "gems_mast";
  staged.plan.micro_batches = 2;
  const StagedTraining mast = staged.predict(128);
  const auto states = [](const StagedTraining& training) {
    Bytes all;
    for (const PartMemory& rank : training.memory) all += rank.states;
    return all;
  };
  EXPECT_NEAR(states(mast) / states(basic), 2, 1e-9);
  const auto most_kept = [](const StagedTraining& training) {
    Bytes most;
    for (const PartMemory& rank : training.memory) most = std::max(most, rank.activations);
    return most;
  };
  EXPECT_NEAR(most_kept(mast) / most_kept(basic), 1, 1e-9);
}

}  // namespace
}  // namespace dlscale::model
