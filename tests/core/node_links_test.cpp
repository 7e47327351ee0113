#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/cluster/node_links.hpp"
#include "core/cluster/nvlink_rings.hpp"
#include "core/config/config_path.hpp"
#include "tests/core/mutated.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

/// Two sockets, a switch below each, two GPUs below each switch, joined in pairs.
constexpr std::string_view four_gpus = R"(cluster: four
nodes: 4
devices_per_node: 4
device: {sheet: v100_sxm2_16gb, launch: 4 us, source: a post}
host: {cores: 8, source: its data sheet}
links:
  host_device: {name: copy, latency: 1 us, bandwidth: 16 GB/s, source: guess}
  intra_node: {name: inside, latency: 3 us, bandwidth: 16 GB/s, source: guess}
  inter_node: {name: 25 GbE, latency: 20 us, bandwidth: 50 Gb/s, source: IEEE 802.3by}
node:
  tree:
    bandwidth: 16 GB/s
    latency: 6 us
    between_sockets: 19 GB/s
    places:
      - {name: left, adapters: 0}
      - {name: right}
      - {name: lower left, under: left, devices: [0, 1]}
      - {name: lower right, under: right, bandwidth: 8 GB/s, devices: [2, 3], adapters: 1}
  nvlink:
    generation: 2
    pairs:
      - {devices: [0, 1], links: 3}
      - {devices: [2, 3], links: 2}
  source: made up
network:
  kind: ethernet-tcp
  adapters: 2
  packets: MTU 1500
  fabric: {kind: fat_tree, nodes_per_switch: 2, oversubscription: 4}
  source: made up
)";

Cluster node_links_load_text(std::string_view text) {
  const test::TemporaryFolder folder;
  return load_cluster(folder.write("four.yaml", text).string());
}

std::string node_links_error_after(std::string_view from, std::string_view to) {
  return test::config_error(
      [&] { (void)node_links_load_text(test::replaced(four_gpus, from, to)); });
}

TEST(NodeLinks, AreReadFromAClusterFile) {
  const Cluster cluster = node_links_load_text(four_gpus);
  ASSERT_TRUE(cluster.node && cluster.network && cluster.node->nvlinks);
  const HostTree& tree = cluster.node->tree;
  EXPECT_EQ(tree.sockets(), 2);
  ASSERT_EQ(tree.places.size(), 4U);
  EXPECT_EQ(tree.places[2].under, 0);
  EXPECT_DOUBLE_EQ(tree.places[2].up.si(), 16e9);  // as a device has
  EXPECT_DOUBLE_EQ(tree.places[3].up.si(), 8e9);
  EXPECT_EQ(tree.places[3].devices, (std::vector<int>{2, 3}));
  EXPECT_EQ(tree.places[0].adapters, (std::vector<int>{0}));
  EXPECT_EQ(cluster.node->nvlinks->links_between(1, 0), 3);
  EXPECT_EQ(cluster.node->nvlinks->links_between(1, 2), 0);
  EXPECT_EQ(cluster.node->nvlinks->rings, (std::vector<int>{0, 0, 3, 0, 0}));
  EXPECT_DOUBLE_EQ(cluster.network->efficiency, 1448.0 / 1538);
  EXPECT_EQ(cluster.network->fabric, Fabric::fat_tree);
  EXPECT_EQ(cluster.network->group, 2);
  EXPECT_DOUBLE_EQ(cluster.network->share, 0.25);
}

TEST(NodeLinks, MayStateAnEfficiencyAndAShareOfGlobalLinks) {
  const std::string text =
      test::replaced(test::replaced(four_gpus, "packets: MTU 1500", "efficiency: 0.9"),
                     "{kind: fat_tree, nodes_per_switch: 2, oversubscription: 4}",
                     "{kind: dragonfly, nodes_per_group: 384, global_share: 0.5}");
  const Cluster cluster = node_links_load_text(text);
  EXPECT_DOUBLE_EQ(cluster.network->efficiency, 0.9);
  EXPECT_EQ(cluster.network->fabric, Fabric::dragonfly);
  EXPECT_EQ(cluster.network->group, 384);
  EXPECT_DOUBLE_EQ(cluster.network->share, 0.5);
}

TEST(NodeLinks, OfATreeThatIsNoneAreRefused) {
  expect_contains(node_links_error_after("under: left", "under: lower left"),
                  "no place named before");
  expect_contains(node_links_error_after("under: left", "under: lower right"),
                  "no place named before");
  expect_contains(node_links_error_after("{name: right}", "{name: left}"),
                  "place left is there twice");
  expect_contains(node_links_error_after("devices: [0, 1]}", "devices: [0]}"),
                  "device 1 hangs below no place");
  expect_contains(node_links_error_after("devices: [0, 1]}", "devices: [0, 2]}"),
                  "device 2 hangs below two");
  expect_contains(node_links_error_after("devices: [0, 1]}", "devices: [0, 4]}"),
                  "device 4 below lower left is not there");
  expect_contains(node_links_error_after("devices: [0, 1]}", "devices: [0, -1]}"), "out of range");
  expect_contains(node_links_error_after("adapters: 1}", "adapters: 2}"), "adapter 2 below");
  expect_contains(node_links_error_after("    between_sockets: 19 GB/s\n", ""),
                  "between_sockets is missing");
  expect_contains(node_links_error_after("{name: right}", "{name: right, bandwidth: 1 GB/s}"),
                  "a socket has no way up");
  expect_contains(node_links_error_after("bandwidth: 8 GB/s", "bandwidth: 8 B/s"),
                  "out of [1 MB/s");
  expect_contains(node_links_error_after("latency: 6 us", "latency: 6 s"), "over a second");
}

TEST(NodeLinks, OfNvlinksThatNoDeviceHasAreRefused) {
  expect_contains(node_links_error_after("links: 3", "links: 1000000000000"), "/links");
  expect_contains(node_links_error_after("links: 3", "links: 7"), "7 NVLinks, out of [1, 6]");
  expect_contains(node_links_error_after("links: 3", "links: 0"), "/links");
  expect_contains(node_links_error_after("[2, 3], links", "[2, 9], links"), "a node has 4");
  expect_contains(node_links_error_after("[2, 3], links", "[2, 2], links"), "Name two of them");
  expect_contains(node_links_error_after("[2, 3], links", "[1, 0], links"), "are there twice");
  expect_contains(node_links_error_after("[2, 3], links: 2", "[1, 3], links: 4"),
                  "device 1 has 7 NVLinks");
  expect_contains(node_links_error_after("[2, 3], links", "[2], links"), "not two devices");
  expect_contains(node_links_error_after("generation: 2", "generation: 6"), "/generation");
  expect_contains(node_links_error_after("generation: 2", "board: dgx1_v100"), "the board says it");
}

TEST(NodeLinks, OfNetworksThatAreNoneAreRefused) {
  expect_contains(node_links_error_after("adapters: 2\n", "adapters: 0\n"), "/network/adapters");
  expect_contains(node_links_error_after("MTU 1500", "MTU 1501"), "no framing of ethernet-tcp");
  expect_contains(node_links_error_after("packets: MTU 1500\n  ", ""),
                  "one of packets and efficiency");
  expect_contains(node_links_error_after("packets: MTU 1500", "efficiency: 1.2"),
                  "/network/efficiency");
  expect_contains(node_links_error_after("ethernet-tcp", "nvlink2"),
                  "no kind of link between nodes");
  expect_contains(node_links_error_after("ethernet-tcp", "ethernet-tpc"),
                  "Did you mean \"ethernet-tcp\"");
  expect_contains(node_links_error_after("oversubscription: 4", "oversubscription: 0.5"),
                  "oversubscription");
  expect_contains(node_links_error_after("kind: fat_tree", "kind: one_switch"), "nodes_per_switch");
  expect_contains(node_links_error_after("kind: fat_tree", "kind: torus"), "not a fabric");
}

TEST(NvlinkBoards, FitTheNodesTheyAreFor) {
  std::set<std::string> tried;
  for (const std::string& name : nvlink_boards()) {
    for (const int devices : {8, 6, 4}) {
      try {
        const Nvlinks board = nvlink_board(name, devices, "here");
        std::vector<int> links(8, 0);
        for (const NvlinkPair& pair : board.pairs) {
          links[static_cast<std::size_t>(pair.a)] += pair.links;
          links[static_cast<std::size_t>(pair.b)] += pair.links;
        }
        const int most = nvlinks_per_device(board.generation);
        EXPECT_LE(*std::ranges::max_element(links), most) << name;
        EXPECT_EQ(board.switch_links, board.pairs.empty() ? most : 0) << name;
        tried.insert(name);
      } catch (const ConfigError& error) {
        expect_contains(error.what(), "State the pairs instead");
      }
    }
  }
  EXPECT_EQ(tried.size(), nvlink_boards().size());
  expect_contains(test::config_error([] { (void)nvlink_board("dgx1_v10", 8, "here"); }),
                  "dgx1_v100");
}

TEST(NvlinkGenerations, AreAsFastAsTheirKindsOfLinks) {
  for (int generation = 1; generation <= 5; ++generation) {
    const LinkKind kind = load_link_kind("nvlink" + std::to_string(generation));
    EXPECT_EQ(kind.channels, nvlinks_per_device(generation));
    EXPECT_DOUBLE_EQ(kind.bandwidth().si(), kind.channels * nvlink_bandwidth(generation).si());
  }
}

TEST(NvlinkRings, OnKnownBoardsAreThoseOfNccl) {
  const auto rings = [](std::string_view board, int devices) {
    return nvlink_rings(nvlink_board(board, devices, "here").pairs, devices);
  };
  EXPECT_EQ(rings("dgx1_p100", 8), 4);
  EXPECT_EQ(rings("dgx1_v100", 8), 6);
  EXPECT_EQ(rings("v100_mesh_4", 4), 6);   // of as many as a device has links
  EXPECT_EQ(rings("a100_mesh_4", 4), 12);  // likewise
  EXPECT_EQ(rings("p100_mesh_4", 4), 2);   // K4 has no three that share no link [Tillson 1980]
  EXPECT_EQ(rings("power9_v100", 3), 4);
  EXPECT_EQ(rings("power9_v100", 6), 0);
  EXPECT_EQ(rings("a100_bridges", 2), 12);
  EXPECT_EQ(rings("a100_bridges", 4), 0);
}

/// Of the cycles from `from` on, as many as fit, each tried with every number of copies.
int most_of(const std::vector<std::vector<int>>& cycles, std::size_t from,
            std::vector<std::vector<int>> free) {
  if (from == cycles.size()) return 0;
  const std::vector<int>& cycle = cycles[from];
  int best = most_of(cycles, from + 1, free);
  for (int copies = 1;; ++copies) {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      auto& links = free[static_cast<std::size_t>(cycle[i])]
                        [static_cast<std::size_t>(cycle[(i + 1) % cycle.size()])];
      if (links-- == 0) return best;
    }
    best = std::max(best, copies + most_of(cycles, from + 1, free));
  }
}

TEST(NvlinkRings, AreTheMostThatAnotherSearchFinds) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int devices = 2 + trial % 3;
    std::vector<NvlinkPair> pairs;
    std::vector<std::vector<int>> links(static_cast<std::size_t>(devices),
                                        std::vector<int>(static_cast<std::size_t>(devices), 0));
    for (int a = 0; a < devices; ++a) {
      for (int b = a + 1; b < devices; ++b) {
        const int count = static_cast<int>(random() % 4);
        if (count == 0) continue;
        pairs.push_back({a, b, count});
        links[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = count;
        links[static_cast<std::size_t>(b)][static_cast<std::size_t>(a)] = count;
      }
    }
    std::vector<std::vector<int>> cycles;
    std::vector<int> cycle;
    for (int device = 0; device < devices; ++device) cycle.push_back(device);
    do {
      cycles.push_back(cycle);
    } while (std::next_permutation(cycle.begin() + 1, cycle.end()));
    EXPECT_EQ(nvlink_rings(pairs, devices), most_of(cycles, 0, links)) << trial;
  }
}

TEST(NvlinkRings, DoNotGrowWhereALinkIsLost) {
  for (const char* name : {"dgx1_v100", "v100_mesh_4", "a100_mesh_4"}) {
    const int devices = std::string_view(name) == "dgx1_v100" ? 8 : 4;
    const std::vector<NvlinkPair> whole = nvlink_board(name, devices, "here").pairs;
    const int rings = nvlink_rings(whole, devices);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<NvlinkPair> less = whole;
      if (--less[i].links == 0) less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_LE(nvlink_rings(less, devices), rings) << name << ' ' << i;
    }
  }
}

TEST(ConfiguredClusters, WithDescriptionsStateWhatTheirAdaptersCarryTogether) {
  int described = 0;
  for (const std::string& name : config_names("clusters")) {
    const Cluster cluster = load_cluster(name);
    if (!cluster.network) continue;
    ++described;
    const double one = cluster.inter_node.bandwidth.si() / cluster.network->adapters;
    double nearest = 1;
    for (const LinkRate& rate : load_link_kind(cluster.network->kind).rates) {
      nearest = std::min(nearest, std::abs(rate.bandwidth.si() / one - 1));
    }
    EXPECT_LT(nearest, 0.02) << name;  // one of those that adapters are sold with
  }
  EXPECT_GE(described, 5);
}

constexpr std::string_view small_link = R"(link: small
reach: inter_node
transport: tcp
rates:
  - {name: slow, bandwidth: 1 Gb/s}
  - {name: fast, bandwidth: 10 Gb/s}
framings:
  - {name: MTU 1500, payload: 1448 B, overhead: 90 B}
latency: {low: 20 us, high: 50 us, of: a message and its answer}
sources: [{of: all, title: a standard}]
)";

LinkKind load_kind(const std::string& file) {
  return load_link_kind(file);
}

std::string link_kind_error_after(std::string_view from, std::string_view to) {
  return test::error_after(small_link, from, to, load_kind);
}

TEST(ConfiguredLinks, AllLoadAndAreCalledLikeTheirFiles) {
  const std::vector<LinkKind> kinds = load_link_kinds();
  const std::vector<std::string> names = config_names("links");
  ASSERT_EQ(kinds.size(), names.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(kinds[i].name, names[i]);
}

TEST(ConfiguredLinks, OfANodeAreThoseOfPublishedCases) {
  const std::map<std::string, double> nominal{
      {"pcie3x16", 15.75e9}, {"pcie4x16", 31.5e9}, {"pcie5x16", 63e9},
      {"nvlink1", 80e9},     {"nvlink2", 150e9},   {"nvswitch2", 150e9},
      {"nvlink3", 300e9},    {"nvlink4", 450e9},   {"nvlink5", 900e9}};
  for (const auto& [name, bandwidth] : nominal) {
    const LinkKind kind = load_link_kind(name);
    EXPECT_EQ(kind.reach, LinkReach::intra_node) << name;
    EXPECT_NEAR(kind.bandwidth().si() / bandwidth, 1, 0.001) << name;
  }
  for (const char* name :
       {"ethernet-tcp", "infiniband-rdma", "roce", "aries", "omni-path", "slingshot", "efa"}) {
    EXPECT_EQ(load_link_kind(name).reach, LinkReach::inter_node) << name;
  }
}

TEST(ConfiguredLinks, OfPciExpressAreItsLanes) {
  for (int generation = 1; generation <= 6; ++generation) {
    const LinkKind kind = load_link_kind("pcie" + std::to_string(generation) + "x16");
    EXPECT_EQ(kind.channels, 16);
    EXPECT_NEAR(kind.bandwidth() / pcie_bandwidth(generation, 16), 1, 1e-4) << generation;
  }
  EXPECT_DOUBLE_EQ(pcie_bandwidth(3, 8).si(), 8e9 * 128 / 130);
  EXPECT_DOUBLE_EQ(pcie_bandwidth(2, 1).si(), 0.5e9);
}

TEST(ConfiguredLinks, LeaveTheShareOfPayloadThatHeadersLeave) {
  const LinkKind ethernet = load_link_kind("ethernet-tcp");
  ASSERT_EQ(ethernet.framings.size(), 2U);
  EXPECT_NEAR(ethernet.framings[0].efficiency(), 0.941482, 1e-6);
  EXPECT_DOUBLE_EQ(ethernet.framings[1].efficiency(), 8948.0 / 9038);
  for (const LinkKind& kind : load_link_kinds()) {
    for (const LinkFraming& framing : kind.framings) {
      EXPECT_GT(framing.efficiency(), 0.8) << kind.name;
      EXPECT_LT(framing.efficiency(), 1) << kind.name;
    }
  }
}

TEST(LinkFile, ReadsUnitsIntoSi) {
  const LinkKind kind = test::load_text(small_link, load_kind);
  EXPECT_EQ(kind.transport, LinkTransport::tcp);
  ASSERT_EQ(kind.rates.size(), 2U);
  EXPECT_DOUBLE_EQ(kind.rates[1].bandwidth.si(), 1.25e9);
  ASSERT_TRUE(kind.latency);
  EXPECT_DOUBLE_EQ(kind.latency->high.si(), 50e-6);
  EXPECT_EQ(kind.sources.front().of.size(), 3U);
}

TEST(LinkFile, WrongValuesAreRefusedByName) {
  expect_contains(link_kind_error_after("inter_node", "between"),
                  "/reach: \"between\" is not a reach");
  expect_contains(link_kind_error_after("tcp", "tpc"), "Did you mean \"tcp\"?");
  expect_contains(link_kind_error_after("bandwidth: 10 Gb/s", "bandwidth: 1 Gb/s"),
                  "slowest first");
  expect_contains(link_kind_error_after("name: fast", "name: slow"), "/rates/1/name");
  expect_contains(link_kind_error_after("bandwidth: 10 Gb/s", "bandwidth: 1000 Tb/s"),
                  "/rates/1/bandwidth is \"1000 Tb/s\" (out of");
  expect_contains(link_kind_error_after("overhead: 90 B", "overhead: 9 kB"),
                  "/framings/0/overhead");
  expect_contains(link_kind_error_after("high: 50 us", "high: 5 us"), "/latency/high");
  expect_contains(link_kind_error_after("high: 50 us", "high: 50 s"), "more than a second");
  expect_contains(link_kind_error_after("reach: inter_node", "reach: intra_node"),
                  "/rates is a list (but");
  expect_contains(link_kind_error_after("rates:", "channels: 4\nrates:"),
                  "/channels is \"4\" (but");
  expect_contains(link_kind_error_after("of: all", "of: [rates, framings]"),
                  "/latency has no source");
  expect_contains(link_kind_error_after("latency:", "latncy:"), "Did you mean \"latency\"?");
}

TEST(LinkFile, DamagedTextIsReadOrRefused) {
  test::expect_no_crash(small_link, load_kind);
}

}  // namespace
}  // namespace dlscale
