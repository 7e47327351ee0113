#include "model/topology/nccl.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/cluster/cluster.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;
using collective::Collective;
using Gpu = NcclFacts::Gpu;

NcclFacts volta() {
  return {
      Gpu::volta, NcclFacts::Fabric::nvlink, NcclFacts::Processor::intel, 120.0_GBps, 1, 12.0_GBps,
      "test"};
}

NcclFacts hopper() {
  return {Gpu::hopper,
          NcclFacts::Fabric::nvswitch,
          NcclFacts::Processor::intel,
          370.8_GBps,
          8,
          48.0_GBps,
          "test"};
}

NcclModel with_rings(NcclFacts facts, Placement placement, int count, double each,
                     Collective collective = Collective::all_reduce) {
  const BytesPerSecond bandwidth(each * 1e9);
  return {facts, placement, {count, bandwidth, bandwidth}, {}, collective};
}

double microseconds(const NcclModel& model, NcclAlgorithm algorithm, NcclProtocol protocol,
                    Bytes message) {
  return model.time(algorithm, protocol, message).value().si() * 1e6;
}

/// Worked out from src/graph/tuning.cc of NCCL 2.30.
TEST(NcclModelTest, GivesTheTimesOfItsSource) {
  const NcclModel one = with_rings(volta(), {8, 8}, 12, 20);
  EXPECT_NEAR(microseconds(one, ring, simple, 64_MiB), 545.335, 1e-3);
  EXPECT_NEAR(microseconds(one, ring, ll, 8_KiB), 15.368, 1e-3);
  NcclFacts ampere = volta();
  ampere.gpu = Gpu::ampere;
  EXPECT_NEAR(microseconds(with_rings(ampere, {8, 8}, 24, 20), ring, ll128, 1_MiB), 44.755, 1e-3);
  const NcclModel four = with_rings(volta(), {32, 8}, 2, 12);
  EXPECT_NEAR(microseconds(four, tree, ll, 8_KiB), 39.647, 1e-3);
  EXPECT_NEAR(microseconds(four, ring, simple, 64_MiB), 5954.963, 1e-3);
  EXPECT_NEAR(microseconds(four, tree, simple, 64_MiB), 8509.008, 1e-3);
  const NcclModel many = with_rings(volta(), {1024, 8}, 2, 12);
  EXPECT_NEAR(microseconds(many, tree, ll, 8_KiB), 89.647, 1e-3);
  EXPECT_NEAR(microseconds(many, ring, ll, 8_KiB), 2485.764, 1e-3);
}

/// By hand from the same source. One node: 8 heads of 40 GB/s · 0.85 · 7/8 · 2, times 8/14 of a
/// message. Two nodes: 57.7 GB/s a head, times 16/30.
TEST(NcclModelTest, GivesTheTimesOfMulticastOfItsSource) {
  EXPECT_NEAR(microseconds(NcclModel(hopper(), {8, 8}), nvls, simple, 1024_MiB), 3972.580, 1e-2);
  EXPECT_NEAR(microseconds(NcclModel(hopper(), {16, 8}), nvls_tree, simple, 1024_MiB), 4428.295,
              1e-2);
}

/// By hand from the same source: half as many steps as an all-reduce, so half of it but for its
/// base of 8.4 us (6.6 of LL).
TEST(NcclModelTest, GivesTheTimesOfReduceScatterAndAllGatherOfItsSource) {
  for (const Collective half : {Collective::reduce_scatter, Collective::all_gather}) {
    const NcclModel one = with_rings(volta(), {8, 8}, 12, 20, half);
    EXPECT_NEAR(microseconds(one, ring, simple, 64_MiB), 8.4 + (545.335 - 8.4) / 2, 1e-3);
    EXPECT_NEAR(microseconds(one, ring, ll, 8_KiB), 6.6 + (15.368 - 6.6) / 2, 1e-3);
    // 8.4 + 28 · 3.4 + 3 · 14 us, and no plateau; 24 GB/s · 32 / 31.
    const NcclModel four = with_rings(volta(), {32, 8}, 2, 12, half);
    EXPECT_NEAR(microseconds(four, ring, simple, 64_MiB), 2854.421, 1e-3);
    // 8 + 2 · 14 / 3.5 + 4 · 2.8 us; 0.75 · 24 GB/s.
    const NcclModel apart = with_rings(volta(), {4, 1}, 2, 12, half);
    EXPECT_NEAR(microseconds(apart, pat, simple, 64_MiB), 3755.470, 1e-3);
    // 8 heads of 40 GB/s · 0.85 · 7/8 · 7/8, all of which the message has.
    EXPECT_NEAR(microseconds(NcclModel(hopper(), {8, 8}, half), nvls, simple, 1024_MiB), 5181.023,
                1e-2);
  }
}

/// By hand from the same source: the message at the bandwidth of the rings after one step.
TEST(NcclModelTest, GivesTheTimesOfReduceAndBroadcastOfItsSource) {
  for (const Collective rooted : {Collective::reduce, Collective::broadcast}) {
    const NcclModel one = with_rings(volta(), {8, 8}, 12, 20, rooted);
    EXPECT_NEAR(microseconds(one, ring, simple, 64_MiB), 8.4 + 3.4 + 67.108864e3 / 240, 1e-3);
    EXPECT_NEAR(microseconds(one, ring, ll, 8_KiB), 6.6 + 0.6 + 8.192 / 39, 1e-3);
    const NcclModel four = with_rings(volta(), {32, 8}, 2, 12, rooted);
    EXPECT_NEAR(microseconds(four, ring, simple, 64_MiB), 8.4 + 14 + 67.108864e3 / 24, 1e-3);
  }
}

/// NCCL has a graph for each; the others it leaves out.
TEST(NcclModelTest, OffersEachCollectiveTheAlgorithmsThatItHas) {
  const auto offered = [](Placement placement, Collective collective) {
    const NcclModel model(hopper(), placement, collective);
    std::set<NcclAlgorithm> found;
    for (const NcclAlgorithm algorithm : {tree, ring, nvls, nvls_tree, pat}) {
      for (const NcclProtocol protocol : {ll, ll128, simple}) {
        if (!model.time(algorithm, protocol, 1_MiB)) continue;
        found.insert(algorithm);
        EXPECT_TRUE(protocol == simple || algorithm == tree || algorithm == ring);
      }
    }
    return found;
  };
  using Set = std::set<NcclAlgorithm>;
  EXPECT_EQ(offered({8, 8}, Collective::all_reduce), (Set{tree, ring, nvls}));
  EXPECT_EQ(offered({16, 8}, Collective::all_reduce), (Set{tree, ring, nvls_tree}));
  for (const Collective half : {Collective::reduce_scatter, Collective::all_gather}) {
    EXPECT_EQ(offered({8, 8}, half), (Set{ring, nvls}));
    EXPECT_EQ(offered({16, 8}, half), Set{ring});
    EXPECT_EQ(offered({4, 1}, half), (Set{ring, pat}));
  }
  for (const Collective rooted : {Collective::reduce, Collective::broadcast}) {
    for (const Placement placement : {Placement{8, 8}, Placement{16, 8}, Placement{4, 1}}) {
      EXPECT_EQ(offered(placement, rooted), Set{ring});
    }
  }
  EXPECT_EQ(to_string(NcclChoice{pat, simple, {}}), "PAT, simple");
}

TEST(NcclModelTest, ChoosesTheLeastTimeAndTreesOnManyNodes) {
  const NcclModel model(hopper(), {64, 8});
  const NcclChoice small = model.choose(8_KiB);
  EXPECT_EQ(small.algorithm, tree);
  EXPECT_EQ(to_string(small), "tree, LL");
  for (const NcclAlgorithm algorithm : {tree, ring, nvls, nvls_tree}) {
    for (const NcclProtocol protocol : {ll, ll128, simple}) {
      const auto time = model.time(algorithm, protocol, 8_KiB);
      if (time) {
        EXPECT_LE(small.time, *time);
      }
    }
  }
}

TEST(NcclModelTest, OffersWhatTheFabricHas) {
  const NcclModel node(hopper(), {8, 8});
  EXPECT_TRUE(node.time(nvls, simple, 1_MiB));
  EXPECT_FALSE(node.time(nvls, ll, 1_MiB));
  EXPECT_FALSE(node.time(nvls_tree, simple, 1_MiB));
  const NcclModel nodes(hopper(), {16, 8});
  EXPECT_FALSE(nodes.time(nvls, simple, 1_MiB));
  EXPECT_TRUE(nodes.time(nvls_tree, simple, 1_MiB));
  NcclFacts facts = volta();
  EXPECT_FALSE(NcclModel(facts, {8, 8}).time(nvls, simple, 1_MiB));
  EXPECT_TRUE(NcclModel(facts, {8, 8}).time(ring, ll128, 1_MiB));
  facts.fabric = NcclFacts::Fabric::pcie;
  EXPECT_FALSE(NcclModel(facts, {8, 8}).time(ring, ll128, 1_MiB));
}

/// Bus bandwidth = 2 (n - 1)/n · m / t, as nccl-tests count it.
double bus_bandwidth(const NcclModel& model, int ranks, Bytes message) {
  return 2.0 * (ranks - 1) / ranks * message.si() / model.choose(message).time.si() / 1e9;
}

TEST(NcclModelTest, ReachesAPartOfTheLinksAndNeverMoreRingsThanTheyCarry) {
  const NcclModel node(hopper(), {8, 8});
  const double large = bus_bandwidth(node, 8, Bytes(8e9));
  EXPECT_GT(large, 360);  // NVLS adds in the switch: more than a ring of 370.8 GB/s could
  EXPECT_LT(large, 2 * 370.8);
  EXPECT_LT(bus_bandwidth(node, 8, 1_MiB), large);
  for (const Placement placement : {Placement{2, 8}, Placement{8, 8}, Placement{64, 8}}) {
    const NcclChannels rings = ring_channels(hopper(), placement);
    EXPECT_LE(rings.count * rings.within_node.si(), 370.8e9);
  }
}

/// 12 links of 20 GB/s carry 6 rings of 40, each cut in two for the thread blocks' sake.
TEST(NcclChannelsTest, FindsTheRingsOfASwitch) {
  NcclFacts facts = hopper();
  facts.gpu = Gpu::ampere;
  facts.gpu_bandwidth = 240.0_GBps;
  const NcclChannels rings = ring_channels(facts, {8, 8});
  EXPECT_EQ(rings.count, 12);
  EXPECT_DOUBLE_EQ(rings.within_node.si(), 20e9);
  const NcclChannels across = ring_channels(hopper(), {16, 8});
  EXPECT_EQ(across.count, 8);
  EXPECT_DOUBLE_EQ(across.between_nodes.si(), 45e9);
}

TEST(NcclChannelsTest, TakesAWaySlowerThanAnyOfTheListAsOneRing) {
  NcclFacts facts = volta();
  facts.adapter_bandwidth = 0.1_GBps;
  const NcclChannels rings = ring_channels(facts, {4, 2});
  EXPECT_EQ(rings.count, 1);
  EXPECT_DOUBLE_EQ(rings.between_nodes.si(), 0.1e9);
}

}  // namespace
}  // namespace dlscale::model
