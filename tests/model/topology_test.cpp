#include "model/topology/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/placed_messages.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/what_if/scaled_machine.hpp"
#include "report/prediction/note_text.hpp"
#include "tests/model/nominal_ring.hpp"

namespace dlscale::model {
namespace {

const NodeLinks& dgx1() {
  static const Cluster cluster = load_cluster("dgx1");
  return *cluster.node;
}

TEST(NodeRings, OfADgx1AreThoseThatItsLinksCarry) {
  const std::map<int, double> gigabytes{{2, 25}, {3, 50}, {4, 100}, {6, 50}, {7, 100}, {8, 150}};
  for (const auto& [devices, rate] : gigabytes) {
    EXPECT_DOUBLE_EQ(ring_over(dgx1(), devices).bandwidth.si(), rate * 1e9) << devices;
    EXPECT_FALSE(ring_over(dgx1(), devices).over_tree) << devices;
  }
  // GPU 4 has links to GPU 0 alone of the first five.
  EXPECT_TRUE(ring_over(dgx1(), 5).over_tree);
  EXPECT_DOUBLE_EQ(ring_over(dgx1(), 5).bandwidth.si(), 15.75e9);
  EXPECT_EQ(ring_over(dgx1(), 8).text(), "6 rings of NVLinks");
  EXPECT_EQ(ring_over(dgx1(), 5).text(), "a ring through the host");
}

TEST(NodeRings, OfASummitNodeStayWithinASocketUpToThree) {
  const Cluster summit = load_cluster("summit");
  EXPECT_DOUBLE_EQ(ring_over(*summit.node, 2).bandwidth.si(), 50e9);
  EXPECT_DOUBLE_EQ(ring_over(*summit.node, 3).bandwidth.si(), 100e9);
  for (const int devices : {4, 5, 6}) {  // over the X-Bus
    EXPECT_DOUBLE_EQ(ring_over(*summit.node, devices).bandwidth.si(), 32e9);
  }
}

TEST(NodeRings, OfSwitchesAreAsFastForAnyDevices) {
  const Cluster cluster = load_cluster("dgx_a100");
  for (int devices = 2; devices <= 8; ++devices) {
    EXPECT_DOUBLE_EQ(ring_over(*cluster.node, devices).bandwidth.si(), 300e9);
  }
  EXPECT_DOUBLE_EQ(between(*cluster.node, 0, 7).si(), 300e9);
}

TEST(NodeTransfers, TakeNvlinksOrTheWayThroughTheHost) {
  EXPECT_DOUBLE_EQ(between(dgx1(), 0, 3).si(), 50e9);
  EXPECT_DOUBLE_EQ(between(dgx1(), 3, 0).si(), 50e9);
  EXPECT_DOUBLE_EQ(between(dgx1(), 0, 1).si(), 25e9);
  EXPECT_DOUBLE_EQ(between(dgx1(), 0, 5).si(), 15.75e9);  // none: PCIe, and QPI is faster
}

/// A tree at random: sockets, then switches below any, devices and adapters below any.
NodeLinks random_tree(std::mt19937& random, int devices, int adapters) {
  NodeLinks node;
  HostTree& tree = node.tree;
  const auto rate = [&] { return BytesPerSecond(1e9 * static_cast<double>(1 + random() % 20)); };
  tree.bandwidth = rate();
  tree.latency = Seconds(1e-6);
  const int sockets = 1 + static_cast<int>(random() % 2);
  if (sockets > 1) tree.between_sockets = rate();
  const int places = sockets + static_cast<int>(random() % 4);
  for (int i = 0; i < places; ++i) {
    TreePlace place;
    place.name = std::to_string(i);
    if (i >= sockets) {
      place.under = static_cast<int>(random() % static_cast<unsigned>(i));
      place.up = rate();
    }
    tree.places.push_back(place);
  }
  for (int i = 0; i < devices; ++i) tree.places[random() % tree.places.size()].devices.push_back(i);
  for (int i = 0; i < adapters; ++i) {
    tree.places[random() % tree.places.size()].adapters.push_back(i);
  }
  NetworkLinks network;
  network.adapters = adapters;
  check(node, &network, devices, "random");
  return node;
}

/// The links from a device to another by name and direction, each with what it carries.
std::vector<std::pair<std::string, double>> way(const HostTree& tree, int a, int b) {
  const auto ups = [&](int device) {
    std::vector<std::pair<int, double>> links;
    int at = 0;
    while (std::ranges::count(tree.places[static_cast<std::size_t>(at)].devices, device) == 0) ++at;
    while (at >= 0) {
      const TreePlace& place = tree.places[static_cast<std::size_t>(at)];
      links.emplace_back(at, place.under < 0 ? tree.between_sockets.si() : place.up.si());
      at = place.under;
    }
    return links;
  };
  std::vector<std::pair<int, double>> up = ups(a);
  std::vector<std::pair<int, double>> down = ups(b);
  while (!up.empty() && !down.empty() && up.back().first == down.back().first) {
    up.pop_back();
    down.pop_back();
  }
  std::vector<std::pair<std::string, double>> links{
      {"out of " + std::to_string(a), tree.bandwidth.si()},
      {"into " + std::to_string(b), tree.bandwidth.si()}};
  for (const auto& [place, carries] : up) {
    const bool socket = tree.places[static_cast<std::size_t>(place)].under < 0;
    if (!socket) links.emplace_back("up " + std::to_string(place), carries);
    if (socket) links.emplace_back("from socket " + std::to_string(place), carries);
  }
  for (const auto& [place, carries] : down) {
    const bool socket = tree.places[static_cast<std::size_t>(place)].under < 0;
    if (!socket) links.emplace_back("down " + std::to_string(place), carries);
  }
  return links;
}

/// What the ring carries whose steps share the links that they cross.
double shared_ring(const HostTree& tree, const std::vector<int>& order) {
  std::map<std::string, std::pair<int, double>> used;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const auto& [link, carries] : way(tree, order[i], order[(i + 1) % order.size()])) {
      ++used[link].first;
      used[link].second = carries;
    }
  }
  double least = 1e30;
  for (const auto& [link, flows] : used) least = std::min(least, flows.second / flows.first);
  return least;
}

TEST(NodeRings, ThroughATreeAreTheBestOfAllOrders) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int devices = 2 + trial % 4;
    const NodeLinks node = random_tree(random, devices, 1);
    std::vector<int> order(static_cast<std::size_t>(devices));
    std::iota(order.begin(), order.end(), 0);
    double best = 0;
    do {
      best = std::max(best, shared_ring(node.tree, order));
    } while (std::next_permutation(order.begin() + 1, order.end()));
    EXPECT_DOUBLE_EQ(ring_over(node, devices).bandwidth.si(), best) << trial;
    EXPECT_DOUBLE_EQ(between(node, 0, 1).si(), [&] {
      double least = 1e30;
      for (const auto& link : way(node.tree, 0, 1)) least = std::min(least, link.second);
      return least;
    }()) << trial;
  }
}

/// By the least cut between devices and adapters, over all sets of places.
double least_cut(const HostTree& tree, int k, double adapter) {
  const std::size_t places = tree.places.size();
  double least = 1e30;
  for (unsigned set = 0; set < (1U << places); ++set) {
    const auto inside = [set](std::size_t place) { return ((set >> place) & 1U) != 0; };
    double cut = 0;
    for (std::size_t i = 0; i < places; ++i) {
      const TreePlace& place = tree.places[i];
      const auto devices = std::ranges::count_if(place.devices, [k](int d) { return d < k; });
      cut += inside(i) ? static_cast<double>(place.adapters.size()) * adapter
                       : static_cast<double>(devices) * tree.bandwidth.si();
      for (std::size_t j = 0; j < i; ++j) {
        if (inside(i) == inside(j)) continue;
        if (place.under == static_cast<int>(j)) cut += place.up.si();
        if (place.under < 0 && tree.places[j].under < 0) cut += tree.between_sockets.si();
      }
    }
    least = std::min(least, cut);
  }
  return least;
}

TEST(OutOfNode, IsTheLeastCutBetweenDevicesAndAdapters) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const int devices = 1 + trial % 5;
    const int adapters = 1 + trial % 3;
    const NodeLinks node = random_tree(random, devices, adapters);
    double before = 0;
    for (int k = 1; k <= devices; ++k) {
      const double out = out_of_node(node, k, adapters, BytesPerSecond(7e9)).si();
      EXPECT_NEAR(out, least_cut(node.tree, k, 7e9), 1) << trial << ' ' << k;
      EXPECT_GE(out, before);  // more devices get no less
      before = out;
    }
    EXPECT_LE(before, adapters * 7e9 * (1 + 1e-12));
  }
}

TEST(OutOfNode, OfADgx1IsWhatOneGpusLinkCarriesOrAllAdapters) {
  const BytesPerSecond edr(12.5e9);
  EXPECT_DOUBLE_EQ(out_of_node(dgx1(), 1, 4, edr).si(), 15.75e9);
  // Two behind one switch, whose way up carries 15.75 GB/s besides its adapter.
  EXPECT_DOUBLE_EQ(out_of_node(dgx1(), 2, 4, edr).si(), 12.5e9 + 15.75e9);
  EXPECT_DOUBLE_EQ(out_of_node(dgx1(), 8, 4, edr).si(), 50e9);
  EXPECT_DOUBLE_EQ(out_of_node(*load_cluster("p3_16xlarge").node, 1, 1, BytesPerSecond(3e9)).si(),
                   3e9);  // nobody says where its adapter is
}

TEST(Taper, FallsFromOneToTheShareOfTheLinksOutOfAGroup) {
  NetworkLinks network;
  network.group = 16;
  network.share = 0.5;
  for (const Fabric fabric : {Fabric::fat_tree, Fabric::dragonfly}) {
    network.fabric = fabric;
    EXPECT_DOUBLE_EQ(taper(network, 1), 1);
    EXPECT_DOUBLE_EQ(taper(network, 16), 1);
    EXPECT_DOUBLE_EQ(taper(network, 31), 1);  // half of them are elsewhere
    EXPECT_DOUBLE_EQ(taper(network, 61), 0.5 / 0.75);
    double before = 1;
    for (int nodes = 1; nodes < 2000; ++nodes) {
      EXPECT_LE(taper(network, nodes), before);
      before = taper(network, nodes);
    }
    EXPECT_NEAR(taper(network, 1'000'000), 0.5, 1e-5);
    network.group = 1;
    EXPECT_DOUBLE_EQ(taper(network, 2), 0.5);
    network.group = 16;
  }
  network.fabric = Fabric::one_switch;
  EXPECT_DOUBLE_EQ(taper(network, 1'000'000), 1);
}

TEST(LinkWithin, OfAllDevicesIsWhatTheClusterStates) {
  for (const std::string& name : config_names("clusters")) {
    const Cluster cluster = load_cluster(name);
    const int devices = cluster.devices_per_node;
    const auto whole = link_within(cluster, {devices, devices});
    EXPECT_EQ(whole.alpha, cluster.intra_node.latency) << name;
    EXPECT_NEAR(whole.beta * cluster.intra_node.bandwidth, 1, 1e-12) << name;
    if (!cluster.node) continue;
    // Data sheets round: the rings of the description are as fast as the link.
    EXPECT_NEAR(ring_over(*cluster.node, devices).bandwidth / cluster.intra_node.bandwidth, 1, 0.01)
        << name;
  }
}

TEST(LinkWithin, FollowsWhatIsStatedOfAllDevices) {
  Cluster cluster = load_cluster("dgx1");
  cluster.intra_node.bandwidth = 2 * cluster.intra_node.bandwidth;
  EXPECT_NEAR(1 / link_within(cluster, {2, 8}).beta.si(), 50e9, 1);
  EXPECT_NEAR(1 / link_within(cluster, {5, 8}).beta.si(), 15.75e9, 1);  // no NVLink
  EXPECT_EQ(link_within(cluster, {5, 8}).alpha, cluster.node->tree.latency);
  // Of a full node and one of two devices, the slower.
  EXPECT_NEAR(1 / link_within(cluster, {10, 8}).beta.si(), 50e9, 1);
  EXPECT_NEAR(1 / link_within(cluster, {9, 8}).beta.si(), 300e9, 1);
}

TEST(LinkBetweenNodes, CarriesThePayloadOfItsPackets) {
  const Cluster cluster = load_cluster("dgx1");
  const double payload = 50e9 * 4096 / 4122;
  EXPECT_NEAR(1 / link_between_nodes(cluster, {16, 8}, 1).beta.si(), payload, 1);
  EXPECT_NEAR(1 / link_between_nodes(cluster, {16, 8}, 8).beta.si(), payload / 8, 1);
  EXPECT_NEAR(1 / link_between_nodes(cluster, {9, 8}, 1).beta.si(), 15.75e9, 1);  // of the last
}

TEST(LinkBetweenNodes, IsTheStatedOneWithoutADescription) {
  Cluster cluster = load_cluster("p40x16");
  cluster.network.reset();
  EXPECT_FALSE(cluster.node);
  EXPECT_EQ(link_between_nodes(cluster, {16, 4}, 4).beta,
            nominal_link(cluster, cluster.inter_node, 4).beta);
  EXPECT_EQ(link_within(cluster, {2, 4}).beta, nominal_link(cluster, cluster.intra_node, 1).beta);
  EXPECT_EQ(described_links(cluster, {16, 4}), "");
}

TEST(LinkBetweenNodes, TapersWithTheNodesOfAnOversubscribedTree) {
  Cluster cluster = load_cluster("summit");
  EXPECT_EQ(link_between_nodes(cluster, {6 * 18, 6}, 1).beta,
            link_between_nodes(cluster, {6 * 4608, 6}, 1).beta);
  cluster.network->share = 0.5;
  SecondsPerByte before;
  for (const int nodes : {2, 18, 19, 36, 72, 1000, 4608}) {
    const SecondsPerByte beta = link_between_nodes(cluster, {6 * nodes, 6}, 1).beta;
    EXPECT_GE(beta, before) << nodes;
    before = beta;
  }
  EXPECT_NEAR(before / link_between_nodes(cluster, {12, 6}, 1).beta, 2, 0.01);
}

TEST(LinkBetweenNodes, OfAriesIsWhatArrivesOfWhatANodeInjects) {
  const Cluster daint = load_cluster("piz_daint");
  // 64 bytes every five cycles of 800 MHz; 8765.65 MB/s from GPU to GPU.
  EXPECT_NEAR(daint.inter_node.bandwidth.si(), 64 * 800e6 / 5, 0.05e9);
  for (const int nodes : {2, 384, 385, 5320}) {
    EXPECT_NEAR(1 / link_between_nodes(daint, {nodes, 1}, 1).beta.si(), 8765.65e6, 5e6) << nodes;
  }
  // Ten global links of 4.75 GB/s on each of 96 routers carry what 4 · 96 nodes inject.
  EXPECT_EQ(daint.network->fabric, Fabric::dragonfly);
  EXPECT_GE(96 * 10 * 4.75e9, daint.network->group * daint.inter_node.bandwidth.si());
  Cluster shared = daint;
  shared.network->share = 0.25;
  const SecondsPerByte whole = link_between_nodes(shared, {384, 1}, 1).beta;
  EXPECT_NEAR(link_between_nodes(shared, {5320, 1}, 1).beta / whole,
              (5320 - 384) / (0.25 * (5320 - 1)), 1e-9);
}

TEST(DescribedLinks, AreToldInTheNotesOfAPrediction) {
  Machine machine = nominal_machine(load_cluster("dgx1"));
  machine.fitted = true;  // but no messages were measured
  Notes notes;
  const MessageTimes times(machine, {4, 8}, Schedule::sequential, notes);
  const double m = 1e8;
  EXPECT_NEAR(times.time(Bytes(m)).value.si(), 6 * (3.4e-6 + m / 4 / 100e9), 1e-12);
  ASSERT_FALSE(notes.all().empty());
  const auto found = std::ranges::find_if(
      notes.all(), [](const Note& note) { return note.kind == NoteKind::links_described; });
  ASSERT_NE(found, notes.all().end());
  EXPECT_EQ(report::note_examples(*found).at(0), "4 of 8 devices: 4 rings of NVLinks, 100 GB/s");
}

TEST(DescribedLinks, CountInEveryAllReduceByDataSheets) {
  Machine machine = nominal_machine(load_cluster("dgx1"));
  const Placement two{2, 8};
  Notes notes;
  const Bytes m(1e8);
  const double ring = 2 * (3.4e-6 + m.si() / 2 / 25e9);
  EXPECT_NEAR(hierarchical_all_reduce(machine.cluster, two, m).si(), ring, 1e-12);
  machine.fitted = true;  // but no messages were measured
  EXPECT_NEAR(
      AllReduceOverride(machine, two, Schedule::sequential, "ring", notes).time(m).value.si(), ring,
      1e-12);
  machine.fitted = false;
  for (const AllReduceRule rule : {AllReduceRule::ring, AllReduceRule::hierarchical}) {
    machine.cluster.all_reduce = rule;
    for (const Placement placement : {two, Placement{5, 8}, Placement{24, 8}}) {
      const std::vector<LinearCost> lines = nominal_lines(machine, placement);
      ASSERT_EQ(lines.size(), 1U);
      const MessageTimes times(machine, placement, Schedule::sequential, notes);
      EXPECT_NEAR(lines[0](m).si(), times.time(m).value.si(), 1e-12);
    }
  }
}

TEST(DescribedLinks, AreScaledWithTheLinksOfANode) {
  const Machine machine = nominal_machine(load_cluster("dgx1"));
  for (const int ranks : {2, 5, 8}) {
    const Placement placement{ranks, 8};
    const auto before = link_within(machine.cluster, placement);
    const auto wide =
        link_within(scaled_machine(machine, Hardware::intra_node_bandwidth, 4).cluster, placement);
    const auto quick =
        link_within(scaled_machine(machine, Hardware::intra_node_latency, 4).cluster, placement);
    EXPECT_NEAR(before.beta / wide.beta, 4, 1e-9) << ranks;
    EXPECT_EQ(before.alpha, wide.alpha) << ranks;
    EXPECT_NEAR(before.alpha / quick.alpha, 4, 1e-9) << ranks;
    EXPECT_EQ(before.beta, quick.beta) << ranks;
  }
}

TEST(DescribedLinks, AreKeptInAMachineFile) {
  for (const std::string& name : config_names("clusters")) {
    const Cluster cluster = load_cluster(name);
    const std::string text = machine_json(nominal_machine(cluster));
    const Machine read = machine_from_json(text, "file");
    EXPECT_EQ(read.cluster.node, cluster.node) << name;
    EXPECT_EQ(read.cluster.network, cluster.network) << name;
    EXPECT_EQ(text.find("\"network\"") != std::string::npos, cluster.network.has_value()) << name;
  }
}

TEST(DescribedLinks, ThatAreWrongInAMachineFileAreRefused) {
  const std::string text = machine_json(nominal_machine(load_cluster("dgx1")));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const auto place = changed.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    changed.replace(place, from.size(), to);
    EXPECT_THROW(machine_from_json(changed, "file"), ConfigError) << to;
  };
  refused("\"generation\": 2", "\"generation\": 6");
  refused("\"adapters\": 4", "\"adapters\": 1");
  refused("\"switch_links\": 0", "\"switch_links\": 100");
  refused("\"devices_per_node\": 8", "\"devices_per_node\": 1000000000");
  refused("\"share\": 1.0", "\"share\": 0.0");
  refused("\"under\": 1", "\"under\": 100");
}

}  // namespace
}  // namespace dlscale::model
