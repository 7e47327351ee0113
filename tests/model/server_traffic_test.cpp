// What ranks and servers send that talk to each other by calls.
#include "model/sgd_iter/server_traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster.hpp"
#include "core/error.hpp"
#include "core/network.hpp"
#include "model/machine.hpp"
#include "model/sgd_iter/fair_links.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

void expect_traffic(const ServerTraffic& traffic, const ServerTraffic& expected) {
  EXPECT_DOUBLE_EQ(traffic.from_rank, expected.from_rank);
  EXPECT_DOUBLE_EQ(traffic.to_server, expected.to_server);
  EXPECT_DOUBLE_EQ(traffic.in_call, expected.in_call);
  EXPECT_DOUBLE_EQ(traffic.out_of_node, expected.out_of_node);
  EXPECT_DOUBLE_EQ(traffic.within_node, expected.within_node);
}

TEST(ServerTraffic, OfOneServerIsAllThatTheOthersHave) {
  expect_traffic(server_traffic({4, 1}, 1, 1), {1, 3, 1, 3, 0});
  expect_traffic(server_traffic({8, 4}, 1, 1), {1, 7, 1, 4, 3});
  expect_traffic(server_traffic({3, 4}, 1, 1), {1, 2, 1, 0, 2});
}

TEST(ServerTraffic, OfServersOnAllRanksIsThatOfARing) {
  expect_traffic(server_traffic({4, 1}, 4, 1), {0.75, 0.75, 0.25, 0.75, 0});
  // Four ranks of a node send half of theirs to the other.
  expect_traffic(server_traffic({8, 4}, 8, 1), {0.875, 0.875, 0.125, 2, 0.375});
}

TEST(ServerTraffic, OfOneThatKeepsAllIsThatOfItAlone) {
  expect_traffic(server_traffic({4, 1}, 2, 2), {1, 3, 1, 3, 0});
}

/// When the last of all pushes ends, of one byte of the gradients, over links between nodes that
/// carry a byte a second each way.
double pushed_at(const Placement& placement, int servers) {
  FairLinks links;
  std::vector<LinkId> out;
  std::vector<LinkId> in;
  for (int node = 0; node < placement.nodes(); ++node) {
    out.push_back(links.add(BytesPerSecond(1)));
    in.push_back(links.add(BytesPerSecond(1)));
  }
  std::uint32_t flows = 0;
  for (int rank = 0; rank < placement.ranks; ++rank) {
    for (int server = 0; server < servers; ++server) {
      const auto from = static_cast<std::size_t>(rank / placement.ranks_per_node);
      const auto to = static_cast<std::size_t>(server / placement.ranks_per_node);
      if (from == to) continue;
      const std::array path{out[from], in[to]};
      links.begin(flows++, Bytes(1.0 / servers), path, Seconds());
    }
  }
  double last = 0;
  for (; flows > 0; --flows) {
    last = links.next().si();
    links.end();
  }
  return last;
}

TEST(ServerTraffic, EndsWhenFairlySharedLinksHaveCarriedIt) {
  for (const auto& [placement, servers] : {std::pair(Placement{4, 1}, 4),
                                           {Placement{8, 4}, 8},
                                           {Placement{8, 2}, 8},
                                           {Placement{6, 1}, 1},
                                           {Placement{12, 3}, 1},
                                           {Placement{12, 4}, 4},
                                           {Placement{8, 2}, 4}}) {
    EXPECT_NEAR(pushed_at(placement, servers), server_traffic(placement, servers, 1).out_of_node,
                1e-9)
        << placement.ranks << " ranks, " << servers << " servers";
  }
}

TEST(ServerTraffic, IsNeverCarriedEarlier) {
  for (int ranks = 2; ranks <= 12; ++ranks) {
    for (int per_node = 1; per_node < ranks; ++per_node) {
      for (int servers = 1; servers <= ranks; ++servers) {
        const Placement placement{ranks, per_node};
        EXPECT_GE(pushed_at(placement, servers) + 1e-9,
                  server_traffic(placement, servers, 1).out_of_node)
            << ranks << " ranks, " << per_node << " on a node, " << servers << " servers";
      }
    }
  }
}

class Calls : public ::testing::Test {
 protected:
  static TrainingRun run_by(Transport transport, int servers) {
    TrainingRun run;
    run.network = "alexnet";
    run.ranks = 8;
    run.ranks_per_node = 4;
    run.schedule = Schedule::wait_free;
    run.synchronisation = Synchronisation::parameter_server;
    run.settings.servers = servers;
    run.settings.transport = transport;
    return run;
  }
  static Machine machine() {
    Machine machine = nominal_machine(load_cluster("p40x16"));
    machine.cluster.intra_node = {"within", Seconds(10e-6), BytesPerSecond(10e9), ""};
    machine.cluster.inter_node = {"between", Seconds(50e-6), BytesPerSecond(1e9), ""};
    machine.cluster.node.reset();
    machine.cluster.network.reset();
    return machine;
  }
};

TEST_F(Calls, TakeARequestAndAnAnswerAndTheTimeOfTheirBytes) {
  const ServerCalls calls(machine(), run_by(Transport::grpc_rdma, 1), 1);
  // 4 ranks of the other node push 1 MB each over 1 GB/s, longer than 3 over 10 GB/s.
  EXPECT_NEAR(calls.time(Bytes(1e6)).value.si(), 2 * 50e-6 + 4e-3, 1e-12);
  EXPECT_EQ(calls.source(), TimeSource::data_sheet);
}

TEST_F(Calls, TakeTheTimeOfPackingWhereTensorsAreInThem) {
  const Estimate<Seconds> beside =
      ServerCalls(machine(), run_by(Transport::grpc_rdma, 1), 1).time(Bytes(1e6));
  const Estimate<Seconds> packed =
      ServerCalls(machine(), run_by(Transport::grpc, 1), 1).time(Bytes(1e6));
  EXPECT_NEAR((packed.value - beside.value).si(), 7 * 1e6 / 569.27e6, 1e-12);
  EXPECT_NEAR((packed.low - beside.low).si(), 1e6 / 800e6 - 1e6 / 1.25e9, 1e-12);
  EXPECT_NEAR((packed.high - beside.high).si(), 7 * 1e6 / 161.63e6, 1e-12);
}

TEST_F(Calls, AreRefusedWhereALinkIsNotKnown) {
  Machine without = machine();
  without.cluster.inter_node = {};
  try {
    const ServerCalls calls(without, run_by(Transport::grpc, 1), 1);
    FAIL() << "no link between nodes, and none missed";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("--transport grpc cannot be predicted here"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Calls, OfMoreServersMakeShorterIterations) {
  const Network network = load_network("alexnet");
  const std::array ranks{8};
  const auto total = [&](Transport transport, int servers) {
    return predict(network, machine(), run_by(transport, servers), ranks).front().time.total.si();
  };
  EXPECT_GT(total(Transport::grpc, 1), total(Transport::grpc_rdma, 1));
  EXPECT_GT(total(Transport::grpc_rdma, 1), total(Transport::grpc_rdma, 2));
}

}  // namespace
}  // namespace dlscale::model
