#include "model/sgd_iter/cluster/cluster_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/topology/topology.hpp"
#include "tests/model/independent_forms.hpp"
#include "tests/model/nominal_ring.hpp"

namespace dlscale::model {
namespace {

using Tasks = std::vector<TaskId>;

TaskId add(ClusterGraph& graph, double work, const Tasks& after = {}) {
  return graph.add(ClusterTask{Seconds(work)}, after);
}

TaskId on_server(ClusterGraph& graph, ServerId server, double work, const Tasks& after = {}) {
  ClusterTask task{Seconds(work)};
  task.server = server;
  return graph.add(task, after);
}

TaskId in_pool(ClusterGraph& graph, PoolId pool, double work, double demand,
               const Tasks& after = {}) {
  ClusterTask task{Seconds(work)};
  task.pool = pool;
  task.demand = demand;
  return graph.add(task, after);
}

TEST(ClusterGraph, WaitsForTheLastOfThoseBefore) {
  ClusterGraph graph;
  const TaskId a = add(graph, 1);
  const TaskId b = add(graph, 5);
  const TaskId nothing = add(graph, 0, {a, b, b});
  const TaskId c = add(graph, 1, {nothing});
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.finished(a).si(), 1);
  EXPECT_EQ(timeline.finished(nothing).si(), 5);
  EXPECT_EQ(timeline.finished(c).si(), 6);
}

TEST(ClusterGraph, ServesInOrderOfReadiness) {
  ClusterGraph graph;
  const ServerId stream = graph.add_server();
  const TaskId late = add(graph, 2);
  const TaskId early = add(graph, 1);
  const TaskId second = on_server(graph, stream, 3, {late});
  const TaskId first = on_server(graph, stream, 3, {early});
  const TaskId third = on_server(graph, stream, 1, {add(graph, 2.5)});
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(first).si(), 1);
  EXPECT_EQ(timeline.started(second).si(), 4);
  EXPECT_EQ(timeline.started(third).si(), 7);
}

TEST(ClusterGraph, HasAsManyDecodeThreadsAsItIsTold) {
  ClusterGraph graph;
  const ServerId threads = graph.add_server(2);
  Tasks tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(on_server(graph, threads, 1));
  EXPECT_EQ(simulate(graph).finished(tasks.back()).si(), 3);
}

TEST(ClusterGraph, DelaysWorkOnItsServer) {
  ClusterGraph graph;
  const ServerId stream = graph.add_server();
  ClusterTask met{Seconds(2), Seconds(1)};
  met.server = stream;
  const TaskId first = graph.add(met, {});
  const TaskId second = on_server(graph, stream, 1);
  const Timeline timeline = simulate(graph);
  EXPECT_EQ(timeline.started(first).si(), 0);
  EXPECT_EQ(timeline.started(second).si(), 3);
}

TEST(ClusterGraph, SharesAPoolInProportionAndEachPoolByItself) {
  ClusterGraph graph;
  const PoolId cores = graph.add_pool(2);
  const PoolId others = graph.add_pool(2);
  const TaskId wide = in_pool(graph, cores, 2, 2);
  const TaskId narrow = in_pool(graph, cores, 3, 1);
  const TaskId elsewhere = in_pool(graph, others, 2, 2);
  const Timeline timeline = simulate(graph);  // 3 cores wanted of 2: speed 2/3, then 1
  EXPECT_NEAR(timeline.finished(wide).si(), 3, 1e-12);
  EXPECT_NEAR(timeline.finished(narrow).si(), 4, 1e-12);
  EXPECT_EQ(timeline.finished(elsewhere).si(), 2);
}

/// Of a path of capacity 1 whose users each want all of it, n get an n-th.
TEST(ClusterGraph, SharesAPathToStorageFairly) {
  for (int n = 1; n <= 8; ++n) {
    ClusterGraph graph;
    const PoolId path = graph.add_pool(1);
    Tasks reads;
    for (int i = 0; i < n; ++i) reads.push_back(in_pool(graph, path, 0.5, 1));
    const Timeline timeline = simulate(graph);
    for (const TaskId read : reads) EXPECT_NEAR(timeline.finished(read).si(), 0.5 * n, 1e-12);
  }
}

/// Both engines run whatever of a graph both have.
TEST(ClusterGraph, AgreesWithTheTaskGraphOfOneRank) {
  std::mt19937 random(21);
  std::uniform_real_distribution<double> seconds(0.01, 1);
  for (int trial = 0; trial < 100; ++trial) {
    const double cores = trial % 2 == 0 ? 2 : 100;
    TaskGraph one(cores);
    ClusterGraph many;
    const PoolId pool = many.add_pool(cores);
    std::vector<ResourceId> resources;
    std::vector<ServerId> servers;
    for (const int count : {1, 1, 3}) {
      resources.push_back(one.add(Resource{"some", count}));
      servers.push_back(many.add_server(count));
    }
    for (std::size_t i = 0; i < 60; ++i) {
      Task task{Seconds(seconds(random)), {}, 0, {}};
      ClusterTask twin{task.work};
      const std::size_t which = random() % 4;
      if (which < 3) {
        task.resource = resources[which];
        twin.server = servers[which];
      }
      task.cores = static_cast<double>(random() % 3);
      twin.pool = pool;
      twin.demand = task.cores;
      for (std::size_t k = random() % 3; i > 0 && k > 0; --k) {
        task.after.emplace_back(random() % i);
      }
      many.add(twin, task.after);
      one.add(task);
    }
    const Timeline a = simulate(one);
    const Timeline b = simulate(many);
    for (std::size_t i = 0; i < a.finish.size(); ++i) {
      EXPECT_NEAR(b.start[i].si(), a.start[i].si(), 1e-9) << trial << ' ' << i;
      EXPECT_NEAR(b.finish[i].si(), a.finish[i].si(), 1e-9) << trial << ' ' << i;
    }
  }
}

/// Reduce-scatter within nodes, rings of every g-th rank across them, whose g flows share
/// the adapter of each node, all-gather within; step by step, each a latency and then flows.
class HierarchicalAllReduce {
 public:
  HierarchicalAllReduce(const Cluster& cluster, const Placement& placement, Bytes message)
      : cluster_(cluster), g_(placement.ranks_per_node), n_(placement.nodes()), message_(message) {
    for (int i = 0; i < n_; ++i) {
      sends_.push_back(graph_.add_link(cluster.inter_node.bandwidth));
      receives_.push_back(graph_.add_link(cluster.inter_node.bandwidth));
    }
    Tasks ready(static_cast<std::size_t>(n_ * g_), add(graph_, 0));
    for (int step = 1; step < g_; ++step) ready = within(ready);
    for (int step = 0; step < 2 * (n_ - 1); ++step) ready = across(ready);
    for (int step = 1; step < g_; ++step) ready = within(ready);
    last_ = ready;
  }
  [[nodiscard]] Seconds time() const {
    const Timeline timeline = simulate(graph_);
    Seconds last;
    for (const TaskId task : last_) last = std::max(last, timeline.finished(task));
    return last;
  }

 private:
  [[nodiscard]] std::size_t rank(int node, int local) const {
    const int index = node * g_ + local;
    return static_cast<std::size_t>(index);
  }
  /// Each rank sends to the next of its node, over a link of its own.
  Tasks within(const Tasks& ready) {
    Tasks done(ready);
    const double step =
        cluster_.intra_node.latency.si() + (message_ / g_ / cluster_.intra_node.bandwidth).si();
    for (int node = 0; node < n_; ++node) {
      for (int i = 0; i < g_; ++i) {
        const std::size_t to = rank(node, (i + 1) % g_);
        done[to] = add(graph_, step, {ready[rank(node, i)], ready[to]});
      }
    }
    return done;
  }
  /// Each rank sends to its like on the next node.
  Tasks across(const Tasks& ready) {
    Tasks done(ready);
    for (int node = 0; node < n_; ++node) {
      const int next = (node + 1) % n_;
      const LinkId path[] = {sends_[static_cast<std::size_t>(node)],
                             receives_[static_cast<std::size_t>(next)]};
      for (int i = 0; i < g_; ++i) {
        const std::size_t to = rank(next, i);
        const TaskId latency =
            add(graph_, cluster_.inter_node.latency.si(), {ready[rank(node, i)], ready[to]});
        done[to] = graph_.add_flow(message_ / (n_ * g_), path, std::vector{latency});
      }
    }
    return done;
  }

  Cluster cluster_;
  int g_;
  int n_;
  Bytes message_;
  ClusterGraph graph_;
  std::vector<LinkId> sends_;
  std::vector<LinkId> receives_;
  Tasks last_;
};

TEST(ClusterGraph, HasFlowsOfANodeShareItsAdapterAsTheClosedFormSays) {
  const Cluster cluster = load_cluster("v100x16_ib100");
  for (const int nodes : {1, 2, 4}) {
    const Placement placement{4 * nodes, 4};
    const Seconds expected = hierarchical_all_reduce(cluster, placement, Bytes(1e8));
    const Seconds simulated = HierarchicalAllReduce(cluster, placement, Bytes(1e8)).time();
    EXPECT_NEAR(simulated.si(), expected.si(), 1e-9 * expected.si()) << nodes;
  }
}

/// Each rank pushes a part of the message to each server, all at once, and pulls it when the server
/// has it from all. Ranks that are servers as well keep their own part.
Seconds time_by_servers(int ranks, int servers, bool co_located, Bytes message,
                        BytesPerSecond bandwidth) {
  ClusterGraph graph;
  std::vector<LinkId> sends;
  std::vector<LinkId> receives;
  const int ends = co_located ? ranks : ranks + servers;
  for (int i = 0; i < ends; ++i) {
    sends.push_back(graph.add_link(bandwidth));
    receives.push_back(graph.add_link(bandwidth));
  }
  const auto end_of = [&](int server) {
    return static_cast<std::size_t>(co_located ? server : ranks + server);
  };
  Tasks pulled;
  std::vector<Tasks> pushed(static_cast<std::size_t>(servers));
  const TaskId begin = add(graph, 0);
  const auto flow = [&](std::size_t from, std::size_t to, const Tasks& after) {
    return from == to
               ? add(graph, 0, after)
               : graph.add_flow(message / servers, std::vector{sends[from], receives[to]}, after);
  };
  for (int server = 0; server < servers; ++server) {
    for (int rank = 0; rank < ranks; ++rank) {
      pushed[static_cast<std::size_t>(server)].push_back(
          flow(static_cast<std::size_t>(rank), end_of(server), {begin}));
    }
  }
  for (int server = 0; server < servers; ++server) {
    for (int rank = 0; rank < ranks; ++rank) {
      pulled.push_back(flow(end_of(server), static_cast<std::size_t>(rank),
                            pushed[static_cast<std::size_t>(server)]));
    }
  }
  const Timeline timeline = simulate(graph);
  Seconds last;
  for (const TaskId task : pulled) last = std::max(last, timeline.finished(task));
  return last;
}

/// In-cast: all ranks at the link of a server, or all servers at that of a rank, get a fair share
/// of it, which takes as long as the turns of server_time().
TEST(ClusterGraph, HasRanksShareTheLinksOfServersAsTheClosedFormSays) {
  const Bytes message(1e8);
  const BytesPerSecond bandwidth(1e9);
  const collective::Link link{Seconds(), 1 / bandwidth, {}};
  const collective::Algorithm* algorithm =
      collective::find(collective::Collective::all_reduce, "parameter_server");
  ASSERT_NE(algorithm, nullptr);
  for (const int ranks : {2, 5, 16}) {
    for (const int servers : {1, 2, 5, 20}) {
      const Seconds expected =
          algorithm->cost({link, link}, {.p = ranks, .servers = servers}, message);
      const Seconds simulated = time_by_servers(ranks, servers, false, message, bandwidth);
      EXPECT_NEAR(simulated.si(), expected.si(), 1e-9 * expected.si()) << ranks << " " << servers;
    }
    // One on each rank: what a rank keeps does not travel, and the rest is what a ring sends.
    const double p = ranks;
    const Seconds ring = 2 * (p - 1) / p * (message / bandwidth);
    const Seconds together = time_by_servers(ranks, ranks, true, message, bandwidth);
    EXPECT_NEAR(together.si(), ring.si(), 1e-9 * ring.si()) << ranks;
  }
}

/// Why messages under way at once may follow one another in a prediction: the last ends as early.
TEST(ClusterGraph, EndsFlowsOfOneLinkTogetherWhenTheyWouldHaveEndedInTurn) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> bytes(0.1, 1);
  for (int trial = 0; trial < 20; ++trial) {
    ClusterGraph graph;
    const LinkId link = graph.add_link(BytesPerSecond(2));
    double sum = 0;
    Tasks flows;
    for (int i = 0; i < 4; ++i) {
      const double size = bytes(random);
      sum += size;
      flows.push_back(graph.add_flow(Bytes(size), std::vector{link}, {}));
    }
    const TaskId last = add(graph, 0, flows);
    EXPECT_NEAR(simulate(graph).finished(last).si(), sum / 2, 1e-12);
  }
}

/// What ranks reduce within nodes first ends when all of them met at once would have ended.
TEST(ClusterGraph, MeetsInNodesFirstAtNoGain) {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> seconds(0.5, 1.5);
  for (int trial = 0; trial < 20; ++trial) {
    ClusterGraph graph;
    Tasks all;
    Tasks nodes;
    for (int node = 0; node < 5; ++node) {
      Tasks of_node;
      for (int rank = 0; rank < 4; ++rank) of_node.push_back(add(graph, seconds(random)));
      all.insert(all.end(), of_node.begin(), of_node.end());
      nodes.push_back(add(graph, 0.25, of_node));
    }
    const TaskId at_once = add(graph, 1, all);
    const TaskId across = add(graph, 0.5, nodes);
    const TaskId within = add(graph, 0.25, {across});
    const Timeline timeline = simulate(graph);
    EXPECT_NEAR(timeline.finished(within).si(), timeline.finished(at_once).si(), 1e-12);
  }
}

/// Batches read by one thread, d ahead of those computed; batch 28, by when the queue is full,
/// takes `late`.
double pipeline(int prefetch, double io, double late, double compute) {
  ClusterGraph graph;
  const ServerId thread = graph.add_server();
  const ServerId device = graph.add_server();
  Tasks takes;
  Tasks computed;
  for (int batch = 0; batch < 50; ++batch) {
    Tasks slot;
    if (batch >= prefetch) slot.push_back(takes[static_cast<std::size_t>(batch - prefetch)]);
    Tasks needs{on_server(graph, thread, batch == 28 ? late : io, slot)};
    if (batch > 0) needs.push_back(computed.back());
    takes.push_back(add(graph, 0, needs));
    computed.push_back(on_server(graph, device, compute, {takes.back()}));
  }
  return simulate(graph).finished(computed.back()).si();
}

TEST(ClusterGraph, StallsForALateBatchAsTheClosedFormSays) {
  for (const int prefetch : {1, 2, 4}) {
    for (const double late : {0.5, 1.5, 2.5, 7.0}) {
      const double stall = pipeline(prefetch, 0.75, late, 1) - pipeline(prefetch, 0.75, 0.75, 1);
      EXPECT_NEAR(stall, late_batch_stall(Seconds(late), Seconds(1), prefetch).si(), 1e-12);
    }
  }
}

TEST(ClusterGraph, RefusesWhatComesLaterAndWhatIsNoTime) {
  ClusterGraph graph;
  EXPECT_THROW(add(graph, 1, {TaskId(0)}), std::logic_error);  // after itself: no cycle
  EXPECT_THROW(add(graph, -1), std::logic_error);
  EXPECT_THROW(add(graph, INFINITY), std::logic_error);
  EXPECT_THROW(on_server(graph, ServerId(0), 1), std::logic_error);
  EXPECT_THROW(in_pool(graph, PoolId(0), 1, 1), std::logic_error);
  EXPECT_THROW(graph.add_server(0), std::logic_error);
  EXPECT_THROW(graph.add_pool(0), std::logic_error);
  const LinkId link = graph.add_link(BytesPerSecond(1));
  EXPECT_THROW(graph.add_flow(Bytes(1), {}, {}), std::logic_error);
  EXPECT_THROW(graph.add_flow(Bytes(-1), std::vector{link}, {}), std::logic_error);
  EXPECT_EQ(graph.tasks(), 0U);
  EXPECT_TRUE(simulate(graph).finish.empty());
}

TEST(ClusterGraph, SendsNothingInNoTime) {
  ClusterGraph graph;
  const LinkId link = graph.add_link(BytesPerSecond(1));
  const TaskId flow = graph.add_flow(Bytes(0), std::vector{link}, std::vector{add(graph, 2)});
  EXPECT_EQ(simulate(graph).finished(flow).si(), 2);
}

}  // namespace
}  // namespace dlscale::model
