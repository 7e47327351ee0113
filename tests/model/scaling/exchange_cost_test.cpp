#include "model/published/scaling/time/exchange_cost.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "model/published/scaling/time/scaled_time.hpp"
#include "tests/model/scaling/trainings.hpp"

namespace dlscale::model::scaling {
namespace {

using cases::Overlap;
using cases::Synchronisation;

/// Of networks as they are sold, and far beyond.
constexpr std::array rates{0.01, 0.125, 1.25, 3.125, 5.0, 7.0, 12.5, 25.0, 50.0, 100.0, 400.0, 1e4};

double transfer(const TrainingFacts& facts) {
  return exchange_cost(facts, facts.asked, Parameters::prior()).messages.transfer.si();
}

TrainingFacts over(ClusterFabric fabric, double gigabytes, int cards = 1) {
  TrainingFacts facts = training(4, 8);
  facts.cluster_fabric = fabric;
  facts.cluster_bandwidth = BytesPerSecond(gigabytes * 1e9);
  facts.cards = cards;
  return facts;
}

/// Bytes that all nodes pass on, over the time: where nothing within a node is in the way.
double effective(TrainingFacts facts) {
  facts.node_fabric = NodeFabric::switched;
  facts.node_bandwidth = BytesPerSecond(1e18);
  const double n = facts.asked.gpus;
  return 2 * (n - 1) / n * facts.gradient.si() / transfer(facts);
}

TrainingFacts on_servers(int nodes, int each) {
  TrainingFacts facts = on_ethernet(nodes, each, Overlap::none);
  facts.synchronisation = Synchronisation::parameter_server;
  return facts;
}

TEST(ExchangeCost, OfServersIsOnePushAndPullOfANodeWhateverTheirNumber) {
  const Parameters p = Parameters::prior();
  for (const int nodes : {2, 4, 16}) {
    TrainingFacts facts = on_servers(nodes, 1);
    facts.framework.node_sum = NodeSum::ring;  // nothing to add within a node
    const double cards = 0.6 * 15.75e9;
    const double by_three =
        std::pow(0.95 * 1.25e9, -3) + std::pow(cards, -3) + std::pow(p[Parameter::socket_rate], -3);
    EXPECT_NEAR(transfer(facts), 102.4e6 / (0.7 * std::pow(by_three, -1.0 / 3)), 1e-12);
    const double of_nodes = transfer(facts);
    facts = on_servers(nodes, 4);
    EXPECT_NEAR(transfer(facts) - transfer(on_servers(1, 4)), of_nodes, 1e-12);
  }
}

TEST(ExchangeCost, ANodeAddsForServersAsItsFrameworkDoes) {
  TrainingFacts facts = on_servers(1, 4);
  const double to_host = 0.36 * 15.75e9;
  // By the host: a copy up and one down, each over the GPU's own link, however many GPUs there are.
  EXPECT_NEAR(transfer(facts), 2 * 102.4e6 / (0.7 * 15.75e9), 1e-12);
  EXPECT_NEAR(transfer(on_servers(1, 8)), transfer(facts), 1e-12);
  facts.framework.node_sum = NodeSum::ring;
  EXPECT_NEAR(transfer(facts), 1.5 * 102.4e6 / to_host, 1e-12);
  facts.framework.node_sum = NodeSum::star;
  EXPECT_NEAR(transfer(facts), 2 * 3 * 102.4e6 / 4 / (0.7 * to_host), 1e-12);
  // A tensor of half of the gradients makes its GPU the limit.
  facts.profile.tensors = {{12.8e6, 0.5}, {6.4e6, 0.7}, {6.4e6, 1}};
  EXPECT_NEAR(transfer(facts), 2 * 3 * 102.4e6 / 2 / (0.7 * to_host), 1e-12);
}

TEST(ExchangeCost, OfServersIsWhatPassesTheBusiest) {
  const auto through = [&](int nodes, double busiest) {
    TrainingFacts facts = on_servers(nodes, 1);
    facts.framework.node_sum = NodeSum::ring;  // nothing within a node
    facts.asked.busiest_server = busiest;
    return transfer(facts);
  };
  for (const int nodes : {2, 4, 16}) {
    const double even = through(nodes, 1);
    EXPECT_NEAR(through(nodes, 1 + 1e-12), even, 1e-9 * even);
    // One keeps all: it gets (n - 1) M, where each got 2 (n - 1)/n M.
    EXPECT_NEAR(through(nodes, nodes) / even, nodes / 2.0, 1e-12);
    EXPECT_GE(through(nodes, 1.5), even * (1 - 1e-12));
  }
  EXPECT_NEAR(through(2, 1.3), through(2, 1), 1e-12);  // what one gets more it pulls less
}

TEST(ExchangeCost, RdmaIsNeverSlowerThanTcpAtTheSameRate) {
  for (const int cards : {1, 2, 8}) {
    for (const double rate : rates) {
      EXPECT_LE(transfer(over(ClusterFabric::rdma, rate, cards)),
                transfer(over(ClusterFabric::tcp, rate, cards)))
          << rate << " GB/s, " << cards;
    }
  }
}

TEST(ExchangeCost, OfUnknownTransportLiesBetweenSocketsAndRdma) {
  TrainingFacts facts = over(ClusterFabric::rdma, 12.5);
  const double rdma = transfer(facts);
  facts.framework.transport_unknown = true;
  const ExchangeCost unknown = exchange_cost(facts, facts.asked, Parameters::prior());
  facts.framework.over_sockets = true;
  const ExchangeCost sockets = exchange_cost(facts, facts.asked, Parameters::prior());
  EXPECT_GT(unknown.messages.transfer.si(), 1.2 * rdma);
  EXPECT_LT(unknown.messages.transfer, sockets.messages.transfer);
  EXPECT_GT(unknown.in_doubt.si(), 0.9 * (sockets.messages.transfer.si() - rdma));
  EXPECT_EQ(sockets.in_doubt, Seconds());
  facts = over(ClusterFabric::tcp, 12.5);  // there is nothing to choose
  facts.framework.transport_unknown = true;
  EXPECT_EQ(exchange_cost(facts, facts.asked, Parameters::prior()).in_doubt, Seconds());
}

TEST(ExchangeCost, AFasterNetworkIsNeverSlower) {
  for (const ClusterFabric fabric : {ClusterFabric::rdma, ClusterFabric::tcp}) {
    double before = 1e300;
    for (const double rate : rates) {
      const double now = transfer(over(fabric, rate));
      EXPECT_LE(now, before) << rate;
      before = now;
    }
  }
}

TEST(ExchangeCost, SlowLinksRunNearLineRateAndFastOnesAsTheirSlotsLet) {
  for (const ClusterFabric fabric : {ClusterFabric::rdma, ClusterFabric::tcp}) {
    EXPECT_NEAR(effective(over(fabric, 1.25)), 0.95 * 1.25e9, 0.03e9);
  }
  const double of_one = effective(over(ClusterFabric::rdma, 12.5));
  EXPECT_GT(of_one, 0.5 * 12.5e9);
  EXPECT_LT(of_one, 0.6 * 15.75e9);
  // Cards of 100, 200 and 400 Gb/s sit in slots of PCIe 3.0, 4.0 and 5.0.
  EXPECT_NEAR(effective(over(ClusterFabric::rdma, 25)), 2 * of_one, 0.01 * of_one);
  EXPECT_NEAR(effective(over(ClusterFabric::rdma, 400, 8)), 32 * of_one, 0.3 * of_one);
  // Many slow cards have a slot each.
  EXPECT_GT(effective(over(ClusterFabric::rdma, 12.5, 4)), 0.93 * 12.5e9);
}

TEST(ExchangeCost, MpiThroughHostsIsNoFasterThanTheGpusLibrary) {
  for (const double rate : rates) {
    for (const auto& [nodes, each] : {std::pair{2, 1}, {2, 8}, {32, 1}, {32, 8}}) {
      TrainingFacts facts = on_ethernet(nodes, each, Overlap::none);
      facts.cluster_bandwidth = BytesPerSecond(rate * 1e9);
      TrainingFacts by_mpi = facts;
      by_mpi.framework.over_host = true;
      EXPECT_GT(transfer(by_mpi), transfer(facts)) << rate << " GB/s, " << nodes;
    }
  }
}

TEST(ExchangeCost, OneRingTakesOneLinkOfAMesh) {
  TrainingFacts facts = training(1, 8);
  const double all = transfer(facts);
  facts.framework.one_ring = true;
  EXPECT_NEAR(transfer(facts), 6 * all, 1e-12);
}

TEST(ExchangeCost, ASecondNodeMakesNoTrainingFasterThanTwice) {
  for (const bool rings_only : {false, true}) {
    for (const bool one_ring : {false, true}) {
      for (const double bytes : {102e6, 553e6}) {  // of ResNet-50 and VGG-16
        for (const Overlap overlap : {Overlap::none, Overlap::bucketed, Overlap::unknown}) {
          for (const NodeFabric fabric :
               {NodeFabric::pcie, NodeFabric::mesh, NodeFabric::switched}) {
            const auto seconds = [&](int nodes) {
              TrainingFacts facts = training(nodes, 8);
              facts.node_fabric = fabric;
              if (fabric == NodeFabric::pcie) facts.node_bandwidth = 15.75_GBps;
              facts.gradient = Bytes(bytes);
              facts.overlap = overlap;
              facts.framework.rings_only = rings_only;
              facts.framework.one_ring = one_ring;
              return ScalingModel(facts).time(Parameters::prior()).total.si();
            };
            EXPECT_GE(seconds(2), seconds(1));
            EXPECT_GE(seconds(4), seconds(2));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
