#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/strong_scaling.hpp"
#include "tests/model/two_ranks.hpp"

namespace dlscale::model {
namespace {

dlscale::Run training(const Machine& machine) {
  dlscale::Run run;
  run.network = "alexnet";
  run.cluster = machine.cluster.name;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.loader_threads = 6;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  return run;
}

class StrongScalingTest : public testing::Test {
 protected:
  [[nodiscard]] StrongScaling scaled(const std::vector<int>& ranks, std::int64_t batch) const {
    return predict_strong(network_, machine_, training(machine_), ranks, batch, {});
  }
  Network network_ = load_network("alexnet");
  Machine machine_ = nominal_machine(load_cluster("v100x16_ib100"));
};

TEST_F(StrongScalingTest, GivesEachRankItsPartAndComparesWithOneThatHasAll) {
  const StrongScaling scaling = scaled({1, 2, 3, 8}, 256);
  ASSERT_EQ(scaling.rows.size(), 3U);
  ASSERT_EQ(scaling.left_out.size(), 1U);
  EXPECT_EQ(scaling.left_out.front(), "ranks 3: 256 images cannot be shared equally");
  const Seconds alone = scaling.rows[0].time.total;
  for (const Prediction& row : scaling.rows) {
    EXPECT_EQ(row.run.ranks * row.run.batch, 256);
    EXPECT_NEAR(row.speedup, alone / row.time.total, 1e-12 * row.speedup);
    EXPECT_NEAR(row.efficiency * row.run.ranks, row.speedup, 1e-12 * row.speedup);
    dlscale::Run same = training(machine_);
    same.batch = row.run.batch;
    const std::array ranks{row.run.ranks};
    EXPECT_EQ(predict(network_, machine_, same, ranks).front().time.total, row.time.total);
  }
  EXPECT_EQ(scaling.rows[0].speedup, 1);
  EXPECT_NEAR(*scaling.rows[0].speedup_low, 1, 1e-12);
  EXPECT_NEAR(*scaling.rows[0].speedup_high, 1, 1e-12);
  EXPECT_LT(*scaling.rows[2].speedup_low, scaling.rows[2].speedup);
  EXPECT_EQ(scaling.speedup_over, "1 rank with all 256 images");
}

TEST_F(StrongScalingTest, ComparesWithTheFewestRanksWhereOneCannotHoldAll) {
  const StrongScaling scaling = scaled({16, 8}, 8192);
  ASSERT_EQ(scaling.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(scaling.rows[1].speedup, 8);
  EXPECT_NEAR(*scaling.rows[1].speedup_low, 8, 1e-9);
  EXPECT_NEAR(scaling.rows[0].speedup,
              8 * (scaling.rows[1].time.total / scaling.rows[0].time.total), 1e-9);
  EXPECT_EQ(scaling.speedup_over.find("8 ranks, counted as 8"), 0U) << scaling.speedup_over;
}

TEST_F(StrongScalingTest, LeavesOutWhatNobodyCanPredict) {
  const StrongScaling scaling = scaled({3, 7}, 1'000'000'000);
  EXPECT_TRUE(scaling.rows.empty());
  EXPECT_EQ(scaling.left_out.size(), 2U);
  EXPECT_THROW((void)scaled({1}, 0), std::logic_error);
}

// How sure predictions are, and of what: intervals and the sources of phases.

class Sureness : public TwoRanks {};

TEST_F(Sureness, IsToldPhaseByPhase) {
  run_.ranks = 1;
  const PhaseSources alone = one().sources;
  EXPECT_EQ(alone.load, TimeSource::measured);
  EXPECT_EQ(alone.h2d, TimeSource::fitted);
  EXPECT_EQ(alone.forward, TimeSource::measured);
  EXPECT_EQ(alone.update, TimeSource::fitted);
  EXPECT_FALSE(alone.communication);
  run_.ranks = 2;
  EXPECT_TRUE(one().sources.communication);
  run_.ranks = 4;
  run_.batch = 2 * batch;
  const PhaseSources others = one().sources;
  EXPECT_GE(others.forward, TimeSource::extrapolated);
  EXPECT_GE(others.backward, TimeSource::extrapolated);
  EXPECT_EQ(others.communication, TimeSource::extrapolated);
}

TEST_F(Sureness, DoesNotGrowWithALinkThatIsStated) {
  run_.ranks = 4;
  run_.schedule = Schedule::sequential;
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e7);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  machine_.inter_node_stated = true;
  const Prediction p = one();
  const double messages = p.time.exposed_comm.si();
  EXPECT_LT(p.low->si(), p.time.total.si() - 0.1 * messages);    // start-ups may be less
  EXPECT_GT(p.high->si(), p.time.total.si() + 0.02 * messages);  // and transfers slower
}

// What parameter servers own by the rules of frameworks.

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

/// In elements of 4 B, by server.
std::vector<double> owned(const char* name, int servers, Sharding sharding,
                          Schedule schedule = Schedule::wait_free) {
  const Network network = load_network(name);
  TrainingRun run;
  run.network = name;
  run.ranks = 16;
  run.schedule = schedule;
  run.synchronisation = Synchronisation::parameter_server;
  run.settings.servers = servers;
  run.settings.sharding = sharding;
  const std::vector<Bucket> messages = gradient_buckets(network, schedule);
  std::vector<double> elements;
  for (const Bytes bytes : owned_by_servers(network, messages, run)) {
    elements.push_back(bytes / 4_B);
  }
  EXPECT_EQ(most_owned(network, messages, run) / 4_B, std::ranges::max(elements));
  return elements;
}

// AlexNet's weights: 34848, 307200, 884736, 663552, 442368, 37748736 (fc6), 16777216, 4096000; its
// biases: 96, 256, 384, 384, 256, 4096, 4096, 1000. Together 60965224.

TEST(Sharding, InTurnLeavesOneOfTwoServersWithTheBiases) {
  EXPECT_EQ(owned("alexnet", 2, Sharding::tensorflow), (std::vector<double>{60'954'656, 10'568}));
  EXPECT_EQ(owned("vgg16", 2, Sharding::tensorflow), (std::vector<double>{138'344'128, 13'416}));
}

TEST(Sharding, InTurnTheServerOfTheFirstConnectedLayerOwnsMostOfFour) {
  EXPECT_EQ(
      owned("alexnet", 4, Sharding::tensorflow),
      (std::vector<double>{34'848 + 884'736 + 442'368 + 16'777'216, 96 + 384 + 256 + 4096,
                           307'200 + 663'552 + 37'748'736 + 4'096'000, 256 + 384 + 4096 + 1000}));
}

TEST(Sharding, BySizeThatLayerIsStillMoreThanAllOthersTogether) {
  const std::vector<double> alexnet = owned("alexnet", 4, Sharding::tensorflow_greedy);
  EXPECT_EQ(alexnet, (std::vector<double>{17'258'912, 885'832, 38'056'192, 4'764'288}));
}

TEST(Sharding, ByMxnetLargeArraysAreCutAndSmallOnesGoByTheirNumber) {
  // A quarter each of fc6, fc7 and fc8; the others as in turn, for 9973 = 1 modulo 4.
  constexpr double cut = (37'748'736 + 16'777'216 + 4'096'000) / 4.0;
  EXPECT_EQ(owned("alexnet", 4, Sharding::mxnet),
            (std::vector<double>{cut + 34'848 + 884'736 + 442'368, cut + 96 + 384 + 256 + 4096,
                                 cut + 307'200 + 663'552, cut + 256 + 384 + 4096 + 1000}));
  const double most = std::ranges::max(owned("vgg16", 8, Sharding::mxnet));
  EXPECT_LT(most, 1.15 * 138'357'544 / 8);
}

TEST(Sharding, OfWholeMessagesTheLargestIsAlone) {
  const std::vector<double> layers = owned("alexnet", 4, Sharding::largest_first);
  EXPECT_EQ(layers.front(), 37'748'736 + 4096);
  const std::vector<double> buckets =
      owned("alexnet", 4, Sharding::largest_first, Schedule::bucketed);
  EXPECT_GT(buckets.front(), 37'748'736 + 4096 - 1);
}

TEST(Sharding, OneServerOwnsAllByEveryRule) {
  for (const Sharding sharding : all_shardings) {
    EXPECT_EQ(owned("alexnet", 1, sharding), std::vector<double>{60'965'224})
        << sharding_name(sharding);
  }
}

TEST(SentApart, IsTheMessageOrItsTensors) {
  const Network network = load_network("alexnet");
  const Bucket last = gradient_buckets(network, Schedule::wait_free).front();
  EXPECT_EQ(sent_apart(network, last, Sharding::largest_first),
            std::vector<Bytes>{4.0 * 4'097'000_B});
  for (const Sharding sharding :
       {Sharding::mxnet, Sharding::tensorflow, Sharding::tensorflow_greedy}) {
    EXPECT_EQ(sent_apart(network, last, sharding), (std::vector<Bytes>{16'384'000_B, 4000_B}));
  }
}

}  // namespace
}  // namespace dlscale::model
