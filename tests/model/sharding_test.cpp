// What parameter servers own by the rules of frameworks.
#include "model/sgd_iter/messages/sharding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {
namespace {

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
