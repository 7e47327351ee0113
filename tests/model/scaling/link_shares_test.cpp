#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/cluster/node_links.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/time/exchange_cost.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"
#include "tests/model/scaling/trainings.hpp"

/// The shares of links in datasheet_efficiency.hpp, held against the fit that they come from.
namespace dlscale::model {
namespace {

using scaling::ClusterFabric;
using scaling::NodeFabric;
using scaling::Parameter;
using scaling::Parameters;
using scaling::TrainingFacts;

const std::vector<Parameters>& all_fits() {
  static const auto fits = [] {
    const scaling::ScalingFile file = scaling::load_scaling(scaling::usual_scaling);
    std::vector<Parameters> all{file.fitted.all.parameters};
    for (const auto& [set, fit] : file.fitted.without) all.push_back(fit.parameters);
    return all;
  }();
  return fits;
}

double least(Parameter parameter) {
  double found = 1e30;
  for (const Parameters& fit : all_fits()) found = std::min(found, fit[parameter]);
  return found;
}

double most(Parameter parameter) {
  double found = 0;
  for (const Parameters& fit : all_fits()) found = std::max(found, fit[parameter]);
  return found;
}

/// Rounded to four digits, to the slower side.
void expect_at_or_below(double said, double fitted) {
  EXPECT_LE(said, fitted);
  EXPECT_GT(said, fitted * (1 - 1e-3));
}
void expect_at_or_above(double said, double fitted) {
  EXPECT_GE(said, fitted);
  EXPECT_LT(said, fitted * (1 + 1e-3));
}

/// Fails where the model of scaling was fitted anew and they were not.
TEST(LinkShares, AreTheSlowestOfTheFitsOfTheModelOfScaling) {
  ASSERT_GT(all_fits().size(), 5U);
  const SlowestLinks& said = slowest_links;
  expect_at_or_below(said.pcie_efficiency, least(Parameter::pcie_efficiency));
  expect_at_or_below(said.least_pcie_growth, least(Parameter::pcie_growth));
  expect_at_or_above(said.most_pcie_growth, most(Parameter::pcie_growth));
  expect_at_or_below(said.nvlink_efficiency, least(Parameter::nvlink_efficiency));
  expect_at_or_below(said.line_efficiency, least(Parameter::line_efficiency));
  expect_at_or_below(said.card_efficiency, least(Parameter::card_efficiency));
  expect_at_or_below(said.socket_rate.si(), least(Parameter::socket_rate));
  expect_at_or_above(said.local_latency.si(), most(Parameter::local_latency));
  expect_at_or_above(said.rdma_latency.si(), most(Parameter::rdma_latency));
  expect_at_or_above(said.tcp_latency.si(), most(Parameter::tcp_latency));
}

/// What the law has GPUs get of a link, each with all others of its kind in a ring.
double carried(const TrainingFacts& facts, const Parameters& fit) {
  const double n = facts.asked.gpus;
  const Seconds time = scaling::exchange_cost(facts, facts.asked, fit).messages.transfer;
  return 2 * (n - 1) / n * facts.gradient.si() / time.si();
}

double startup(TrainingFacts facts, const Parameters& fit) {
  facts.framework.rings_only = true;
  const Seconds all = scaling::exchange_cost(facts, facts.asked, fit).messages.startup;
  return all.si() / (2 * facts.asked.gpus);
}

/// One GPU a node, whose own links are in nobody's way.
TrainingFacts between_nodes(ClusterFabric fabric, double gigabits, int cards) {
  TrainingFacts facts = scaling::training(4, 1);
  facts.cluster_fabric = fabric;
  facts.cluster_bandwidth = BytesPerSecond(gigabits * 1e9 / 8);
  facts.cards = cards;
  facts.node_fabric = NodeFabric::switched;
  facts.node_bandwidth = BytesPerSecond(1e18);
  return facts;
}

void expect_within(const LinkShares& shares, double nominal, double law, double law_startup) {
  EXPECT_LE(shares.efficiency * nominal, law);
  EXPECT_LE(law, nominal);
  EXPECT_GE(shares.startup.si(), law_startup * (1 - 1e-9));
  EXPECT_GT(law_startup, 0);
}

TEST(LinkShares, ContainTheLawBetweenNodesAtAllRates) {
  for (const double gigabits : {1, 10, 25, 40, 56, 100, 200, 400, 800, 1600, 3200}) {
    for (const int cards : {1, 2, 4, 8}) {
      for (const Parameters& fit : all_fits()) {
        SCOPED_TRACE(gigabits);
        const TrainingFacts tcp = between_nodes(ClusterFabric::tcp, gigabits, cards);
        const BytesPerSecond nominal = tcp.cluster_bandwidth;
        expect_within(tcp_shares(nominal, cards), nominal.si(), carried(tcp, fit),
                      startup(tcp, fit));
        const TrainingFacts rdma = between_nodes(ClusterFabric::rdma, gigabits, cards);
        expect_within(rdma_shares(nominal, cards), nominal.si(), carried(rdma, fit),
                      startup(rdma, fit));
        const LinkShares either =
            slower_of(tcp_shares(nominal, cards), rdma_shares(nominal, cards));
        EXPECT_LE(either.efficiency * nominal.si(), carried(tcp, fit));
      }
    }
  }
}

/// TCP carries what a node's sockets do, however quick the line.
TEST(LinkShares, OfTcpFallWithTheRate) {
  const auto rate = [](double gigabits) {
    const BytesPerSecond nominal(gigabits * 1e9 / 8);
    return tcp_shares(nominal, 1).efficiency * nominal.si();
  };
  const double sockets = slowest_links.socket_rate.si();
  EXPECT_GT(rate(10), 0.9 * 1.25e9);
  EXPECT_LT(rate(100), sockets);
  EXPECT_GT(rate(400), 0.99 * sockets);
  EXPECT_LE(rate(400), sockets);
}

TEST(LinkShares, ContainTheLawWithinNodes) {
  const auto within = [](NodeFabric fabric, BytesPerSecond nominal) {
    TrainingFacts facts = scaling::training(1, 8);
    facts.node_fabric = fabric;
    facts.node_bandwidth = nominal;
    return facts;
  };
  for (const Parameters& fit : all_fits()) {
    for (int generation = 1; generation <= 5; ++generation) {
      SCOPED_TRACE(generation);
      const BytesPerSecond pcie = pcie_bandwidth(generation, 16);
      const TrainingFacts by_pcie = within(NodeFabric::pcie, pcie);
      expect_within(pcie_shares(pcie), pcie.si(), carried(by_pcie, fit), startup(by_pcie, fit));
      const BytesPerSecond nvlink =
          1.0 * nvlinks_per_device(generation) * nvlink_bandwidth(generation);
      const TrainingFacts by_nvlink = within(NodeFabric::switched, nvlink);
      expect_within(nvlink_shares(), nvlink.si(), carried(by_nvlink, fit), startup(by_nvlink, fit));
    }
  }
}

/// A ring over nodes of four GPUs, by the law and at both ends of the interval of a prediction.
void expect_ring_within(const Machine& machine, TrainingFacts facts) {
  facts.node_bandwidth = machine.cluster.intra_node.bandwidth;
  facts.cluster_bandwidth = machine.cluster.inter_node.bandwidth;
  const DatasheetLinks ends = datasheet_links(machine);
  const Placement placement{16, 4};
  const double at_most = 1 / ring_link(ends.quick, placement).beta.si();
  const double at_least = 1 / ring_link(ends.slow, placement).beta.si();
  for (const Parameters& fit : all_fits()) {
    EXPECT_LE(carried(facts, fit), at_most);
    EXPECT_GE(carried(facts, fit), at_least);
  }
}

TEST(LinkShares, ContainTheLawOfRingsOverNodes) {
  for (const double gigabits : {1, 10, 25, 56, 100, 200, 400}) {
    for (const char* kind : {"ethernet-tcp", "infiniband-rdma", ""}) {
      for (const double within : {15.75, 31.5, 63.0, 80.0, 150.0, 300.0, 450.0, 900.0}) {
        SCOPED_TRACE(fmt::format("{} Gb/s {}, {} GB/s", gigabits, kind, within));
        Machine machine;
        machine.cluster = load_cluster("p40x16");
        machine.cluster.intra_node.bandwidth = BytesPerSecond(within * 1e9);
        machine.cluster.inter_node.bandwidth = BytesPerSecond(gigabits * 1e9 / 8);
        machine.cluster.intra_node.name = machine.cluster.inter_node.name = "a link";
        machine.cluster.network->kind = kind;
        TrainingFacts facts = scaling::training(4, 4);
        facts.node_fabric = within < 64 ? NodeFabric::pcie : NodeFabric::switched;
        const bool told = !machine.cluster.network->kind.empty();
        if (!told) machine.cluster.network.reset();
        for (const ClusterFabric fabric : {ClusterFabric::tcp, ClusterFabric::rdma}) {
          const bool is_tcp = fabric == ClusterFabric::tcp;
          if (told && is_tcp != (machine.cluster.network->kind == "ethernet-tcp")) continue;
          facts.cluster_fabric = fabric;
          expect_ring_within(machine, facts);
        }
      }
    }
  }
}

/// Where the power law has more than all of it: 1 GB/s and less.
TEST(LinkShares, NeverPassMoreThanTheLineRate) {
  EXPECT_EQ(pcie_shares(BytesPerSecond(1e6)).efficiency, 1);
  EXPECT_LT(pcie_shares(BytesPerSecond(4e9)).efficiency, 1);
}

}  // namespace
}  // namespace dlscale::model
