// What ranks, or nodes, and servers send that talk to each other by calls.
#include "model/sgd_iter/messages/exchange_costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/exchange.hpp"
#include "model/plan/iteration_grid.hpp"
#include "model/sgd_iter/cluster/max_min_fair_links.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/prediction/note_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

void expect_traffic(const ServerTraffic& traffic, const ServerTraffic& expected) {
  EXPECT_DOUBLE_EQ(traffic.from_caller, expected.from_caller);
  EXPECT_DOUBLE_EQ(traffic.to_server, expected.to_server);
  EXPECT_DOUBLE_EQ(traffic.in_call, expected.in_call);
  EXPECT_DOUBLE_EQ(traffic.out_of_node, expected.out_of_node);
  EXPECT_DOUBLE_EQ(traffic.within_node, expected.within_node);
}

TEST(ServerTraffic, OfOneServerIsAllThatTheOthersHave) {
  expect_traffic(server_traffic({4, 1}, Callers::ranks, 1, 1), {1, 3, 1, 3, 0});
  expect_traffic(server_traffic({8, 4}, Callers::ranks, 1, 1), {1, 7, 1, 4, 3});
  expect_traffic(server_traffic({3, 4}, Callers::ranks, 1, 1), {1, 2, 1, 0, 2});
}

TEST(ServerTraffic, OfServersOnAllRanksIsThatOfARing) {
  expect_traffic(server_traffic({4, 1}, Callers::ranks, 4, 1), {0.75, 0.75, 0.25, 0.75, 0});
  // Four ranks of a node send half of theirs to the other.
  expect_traffic(server_traffic({8, 4}, Callers::ranks, 8, 1), {0.875, 0.875, 0.125, 2, 0.375});
}

TEST(ServerTraffic, OfOneThatKeepsAllIsThatOfItAlone) {
  expect_traffic(server_traffic({4, 1}, Callers::ranks, 2, 2), {1, 3, 1, 3, 0});
}

TEST(ServerTraffic, OfOneProcessANodeIsOfAsManyCallersAsThereAreNodes) {
  // The process of the server's node packs for it, too, and of both nodes one pushes over a link.
  expect_traffic(server_traffic({8, 4}, Callers::nodes, 1, 1), {1, 2, 1, 1, 0});
  expect_traffic(server_traffic({8, 4}, Callers::nodes, 2, 1), {1, 1, 0.5, 0.5, 0});
  expect_traffic(server_traffic({64, 8}, Callers::nodes, 8, 1), {1, 1, 0.125, 0.875, 0});
  // The last node has one rank, and a process as the others have.
  expect_traffic(server_traffic({5, 4}, Callers::nodes, 2, 1), {1, 1, 0.5, 0.5, 0});
  // Seven nodes push half of theirs to the one that keeps it.
  expect_traffic(server_traffic({64, 8}, Callers::nodes, 4, 2), {1, 4, 0.5, 3.5, 0});
}

TEST(ServerTraffic, OfOneNodeIsACallToTheServerBesideItOrNone) {
  expect_traffic(server_traffic({8, 8}, Callers::nodes, 1, 1), {1, 1, 1, 0, 0});
  expect_traffic(server_traffic({8, 8}, Callers::several_nodes, 1, 1), {0, 0, 0, 0, 0});
  expect_traffic(server_traffic({16, 8}, Callers::several_nodes, 2, 1),
                 server_traffic({16, 8}, Callers::nodes, 2, 1));
}

/// A process that calls, or a server.
struct Process {
  int node = 0;
  int rank = -1;  ///< that is both; -1: it is one of them alone
};

struct Processes {
  std::vector<Process> callers;
  std::vector<Process> servers;
};

Processes processes(const Placement& placement, Callers callers, int servers) {
  Processes all;
  const bool by_ranks = callers == Callers::ranks;
  const int calling = by_ranks ? placement.ranks : placement.nodes();
  for (int i = 0; i < calling; ++i) {
    all.callers.push_back(by_ranks ? Process{placement.node(i), i} : Process{i});
    if (i < servers) all.servers.push_back(all.callers.back());
  }
  return all;
}

/// When the last of all pushes ends, of one byte of each caller's gradients, over links that carry
/// a byte a second each way: those of nodes, or those that stand for what a process packs or
/// unpacks.
enum class Over { nodes, processes };
double pushed_at(const Placement& placement, Callers callers, int servers, Over over) {
  const auto [from, to] = processes(placement, callers, servers);
  MaxMinFairLinks links;
  std::vector<LinkId> out;
  std::vector<LinkId> in;
  const std::size_t ends = std::max<std::size_t>(from.size(), placement.nodes());
  for (std::size_t i = 0; i < ends; ++i) {
    out.push_back(links.add(BytesPerSecond(1)));
    in.push_back(links.add(BytesPerSecond(1)));
  }
  std::uint32_t flows = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t j = 0; j < to.size(); ++j) {
      if (from[i].rank >= 0 && from[i].rank == to[j].rank) continue;
      if (over == Over::nodes && from[i].node == to[j].node) continue;
      const auto node = [](const Process& one) { return static_cast<std::size_t>(one.node); };
      const std::array path = over == Over::nodes ? std::array{out[node(from[i])], in[node(to[j])]}
                                                  : std::array{out[i], in[j]};
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
    EXPECT_NEAR(pushed_at(placement, Callers::ranks, servers, Over::nodes),
                server_traffic(placement, Callers::ranks, servers, 1).out_of_node, 1e-9)
        << placement.ranks << " ranks, " << servers << " servers";
  }
}

TEST(ServerTraffic, OfOneProcessANodeEndsWhenFairlySharedLinksHaveCarriedIt) {
  for (int nodes = 1; nodes <= 9; ++nodes) {
    for (const int servers : {1, nodes}) {
      const Placement placement{4 * nodes, 4};
      EXPECT_NEAR(pushed_at(placement, Callers::nodes, servers, Over::nodes),
                  server_traffic(placement, Callers::nodes, servers, 1).out_of_node, 1e-9)
          << nodes << " nodes, " << servers << " servers";
    }
  }
}

TEST(ServerTraffic, IsPackedWhenTheBusiestProcessHasPackedOneCallAfterTheOther) {
  for (const Callers callers : {Callers::ranks, Callers::nodes}) {
    for (const auto& [placement, servers] : {std::pair(Placement{4, 1}, 4),
                                             {Placement{12, 3}, 1},
                                             {Placement{12, 3}, 4},
                                             {Placement{8, 4}, 2},
                                             {Placement{4, 4}, 1}}) {
      const ServerTraffic traffic = server_traffic(placement, callers, servers, 1);
      EXPECT_NEAR(pushed_at(placement, callers, servers, Over::processes),
                  std::max(traffic.from_caller, traffic.to_server), 1e-9)
          << placement.ranks << " ranks, " << servers << " servers, " << callers_name(callers);
    }
  }
}

TEST(ServerTraffic, IsNeverCarriedEarlier) {
  for (const Callers callers : {Callers::ranks, Callers::nodes}) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      for (int per_node = 1; per_node < ranks; ++per_node) {
        const Placement placement{ranks, per_node};
        const int most = callers == Callers::ranks ? ranks : placement.nodes();
        for (int servers = 1; servers <= most; ++servers) {
          EXPECT_GE(pushed_at(placement, callers, servers, Over::nodes) + 1e-9,
                    server_traffic(placement, callers, servers, 1).out_of_node)
              << ranks << " ranks, " << per_node << " on a node, " << servers << " servers";
        }
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
  /// Of a message of 1 MB to servers that keep as much each.
  Estimate<Seconds> time_by(const TrainingRun& run) {
    return ServerCalls(machine_, run, 1, notes_).time(Bytes(1e6));
  }

  Machine machine_ = machine();
  Notes notes_;
};

/// Of a device, of its host.
Estimate<Seconds> copy_of(const Machine& machine, Bytes size) {
  return machine.h2d.front().cost.time(size);
}

TEST_F(Calls, TakeARequestAndAnAnswerAndTheTimeOfTheirBytes) {
  machine_.fitted = true;  // but no messages were measured
  Notes notes;
  const ServerCalls calls(machine_, run_by(Transport::grpc_rdma, 1), 1, notes);
  // 4 ranks of the other node push 1 MB each over 1 GB/s, longer than 3 over 10 GB/s.
  EXPECT_NEAR(calls.time(Bytes(1e6)).value.si(), 2 * 50e-6 + 4e-3, 1e-12);
  EXPECT_EQ(calls.source(), TimeSource::data_sheet);
}

TEST_F(Calls, TakeTheTimeOfPackingWhereTensorsAreInThemAndOfCopiesToTheHostThatPacks) {
  machine_.fitted = true;  // so that both cross the links as stated
  const Estimate<Seconds> beside = time_by(run_by(Transport::grpc_rdma, 1));
  const Estimate<Seconds> packed = time_by(run_by(Transport::grpc, 1));
  const Estimate<Seconds> copy = copy_of(machine_, Bytes(1e6));
  EXPECT_GT(copy.value.si(), 1e6 / 16e9);  // PCIe 3.0
  EXPECT_NEAR((packed.value - beside.value - copy.value).si(), 7 * 1e6 / 569.27e6, 1e-12);
  EXPECT_NEAR((packed.low - beside.low - copy.low).si(), 1e6 / 800e6 - 1e6 / 1.25e9, 1e-12);
  EXPECT_NEAR((packed.high - beside.high - copy.high).si(), 7 * 1e6 / 161.63e6, 1e-12);
}

TEST_F(Calls, CrossLinksOfDataSheetsBySocketsUnlessTensorsTravelBesideThem) {
  const auto beyond_packing = [this] {
    const Estimate<Seconds> beside = time_by(run_by(Transport::grpc_rdma, 1));
    const Estimate<Seconds> packed = time_by(run_by(Transport::grpc, 1));
    return (packed.value - beside.value - copy_of(machine_, Bytes(1e6)).value).si() -
           7 * 1e6 / 569.27e6;
  };
  EXPECT_GT(beyond_packing(), 0);
  machine_.fitted = true;
  EXPECT_NEAR(beyond_packing(), 0, 1e-12);
}

TEST_F(Calls, OfProcessorsTakeNoCopies) {
  machine_.fitted = true;  // so that both start over links as stated
  const Estimate<Seconds> copied = time_by(run_by(Transport::grpc, 1));
  machine_.cluster.device.kind = DeviceKind::cpu;
  const Estimate<Seconds> at_home = time_by(run_by(Transport::grpc, 1));
  EXPECT_NEAR((copied.value - at_home.value).si(), copy_of(machine_, Bytes(1e6)).value.si(), 1e-12);
}

TEST_F(Calls, OfOneProcessANodeCarryWhatItsRanksHaveOnce) {
  machine_.fitted = true;  // but no messages were measured
  const double copy = copy_of(machine_, Bytes(1e6)).value.si();
  TrainingRun run = run_by(Transport::grpc_rdma, 1);
  run.settings.callers = Callers::nodes;
  EXPECT_NEAR(time_by(run).value.si(), copy + 2 * 50e-6 + 1e-3, 1e-12);
  run.settings.transport = Transport::grpc;
  EXPECT_NEAR(time_by(run).value.si(), copy + 2 * 50e-6 + 1e-3 + 2e6 / 569.27e6, 1e-12);
  run.settings.servers = 0;  // one on each of two nodes
  EXPECT_NEAR(time_by(run).value.si(), copy + 2 * 50e-6 + 0.5e-3 + 1e6 / 569.27e6, 1e-12);
}

TEST_F(Calls, OnOneNodeGoToTheServerBesideItsProcessOrNowhere) {
  const double copy = copy_of(machine_, Bytes(1e6)).value.si();
  TrainingRun run = run_by(Transport::grpc, 0);
  run.ranks = 4;
  run.settings.callers = Callers::nodes;
  EXPECT_NEAR(time_by(run).value.si(), copy + 1e6 / 569.27e6, 1e-12);
  run.settings.callers = Callers::several_nodes;
  EXPECT_NEAR(time_by(run).value.si(), copy, 1e-12);
  EXPECT_TRUE(std::ranges::any_of(report::note_texts(notes_.all()), [](const std::string& note) {
    return note.find("calls no server") != std::string::npos;
  }));
}

TEST_F(Calls, AreRefusedWhereALinkIsNotKnown) {
  machine_.cluster.inter_node = {};
  test::expect_contains(test::config_error([&] { (void)time_by(run_by(Transport::grpc, 1)); }),
                        "transport grpc cannot be predicted here");
}

TEST_F(Calls, OfMoreServersMakeShorterIterations) {
  const Network network = load_network("alexnet");
  const std::array ranks{16};
  const auto total = [&](Transport transport, int servers) {
    return predict(network, machine_, run_by(transport, servers), ranks).front().time.total.si();
  };
  EXPECT_GT(total(Transport::grpc, 1), total(Transport::grpc_rdma, 1));
  // Two are on one node and share its link; sixteen are on all four.
  EXPECT_EQ(total(Transport::grpc_rdma, 1), total(Transport::grpc_rdma, 2));
  EXPECT_GT(total(Transport::grpc_rdma, 1), total(Transport::grpc_rdma, 16));
}

/// By one server and by all that there can be, and in buckets by two.
std::vector<Exchange> by_calls() {
  std::vector<Exchange> all;
  const auto add = [&](Schedule schedule, Transport transport, Callers callers, int servers) {
    all.push_back({.schedule = schedule,
                   .synchronisation = Synchronisation::parameter_server,
                   .servers = servers,
                   .transport = transport,
                   .callers = callers});
  };
  for (const Callers callers : all_callers) {
    add(Schedule::sequential, Transport::grpc, callers, 1);
    add(Schedule::wait_free, Transport::grpc, callers, 0);
    add(Schedule::bucketed, Transport::grpc_rdma, callers, 2);
  }
  return all;
}

TEST_F(Calls, MakeTheSameIterationsInPlansAsInTheTaskGraph) {
  const Network network = load_network("alexnet");
  const PlanSpace space{{4, 6, 64}, {8}, by_calls()};
  const TrainingRun run = run_by(Transport::collectives, 0);
  const IterationGrid grid = iteration_grid(network, machine_, run, space);
  EXPECT_EQ(grid.by_simulation, 0U);
  for (std::size_t e = 0; e < space.exchanges.size(); ++e) {
    for (std::size_t rank = 0; rank < space.ranks.size(); ++rank) {
      TrainingRun one = run;
      apply(space.exchanges[e], one);
      one.ranks = space.ranks[rank];
      const double planned = grid.at({e, 0, rank});
      const std::string text = exchange_text(space.exchanges[e]);
      if (one.settings.servers > most_servers(one)) {
        EXPECT_TRUE(std::isnan(planned)) << text;
        continue;
      }
      const std::array ranks{one.ranks};
      const double total = predict(network, machine_, one, ranks).front().time.total.si();
      EXPECT_NEAR(planned, total, 1e-9 * total) << text << " on " << one.ranks;
    }
  }
  EXPECT_EQ(exchange_text(space.exchanges[0]), "sequential by 1 server (grpc)");
  EXPECT_EQ(exchange_text(space.exchanges[4]),
            "wait_free by a server on each node (grpc, callers nodes)");
  // A node of 64 ranks calls once, and not four times. On the only one of 4, GPUs add either way.
  EXPECT_LT(grid.at({3, 0, 2}), grid.at({0, 0, 2}));
  EXPECT_EQ(grid.at({3, 0, 2}), grid.at({6, 0, 2}));
  EXPECT_EQ(grid.at({3, 0, 0}), grid.at({6, 0, 0}));
}

}  // namespace
}  // namespace dlscale::model
