#include "backend/host/host.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

#include "backend/host/topology.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Runs on a thread of its own, whose binding ends with it.
void on_thread(const std::function<void()>& body) {
  std::jthread(body).join();
}

std::set<int> affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::set<int> numbers;
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (CPU_ISSET(number, &set)) numbers.insert(number);
  }
  return numbers;
}

TEST(UsableCores, AreThoseTheSystemAllows) {
  const std::vector<int> cores = usable_cores();
  EXPECT_EQ(std::set<int>(cores.begin(), cores.end()), affinity());
  EXPECT_EQ(cores.size(), affinity().size());
}

TEST(UsableCores, TakeFirstThreadsOfAllCoresBeforeSecondOnes) {
  const Topology topology = read_topology();
  const auto place = [&](int number) {
    return std::find_if(topology.threads.begin(), topology.threads.end(),
                        [&](const HardwareThread& t) { return t.number == number; })
        ->place;
  };
  const std::vector<int> cores = usable_cores();
  EXPECT_TRUE(std::is_sorted(cores.begin(), cores.end(),
                             [&](int a, int b) { return place(a) < place(b); }));
}

TEST(BindToCores, GivesEachRankItsShare) {
  const std::vector<int> cores = usable_cores();
  for (std::size_t rank = 0; rank < cores.size(); ++rank) {
    on_thread([&] {
      bind_to_cores(static_cast<int>(rank), 1);
      EXPECT_EQ(affinity(), std::set<int>{cores[rank]});
    });
  }
  on_thread([&] {
    bind_to_cores(0, static_cast<int>(cores.size()));
    EXPECT_EQ(affinity(), std::set<int>(cores.begin(), cores.end()));
  });
}

TEST(BindToCores, HoldsForThreadsStartedLater) {
  const std::vector<int> cores = usable_cores();
  on_thread([&] {
    bind_to_cores(static_cast<int>(cores.size()) - 1, 1);
    on_thread([&] { EXPECT_EQ(affinity(), std::set<int>{cores.back()}); });
  });
}

TEST(BoundThread, RunsOnOneCoreWhileItIsBound) {
  const std::set<int> before = affinity();
  for (const int core : usable_cores()) {
    const BoundThread bound(core);
    EXPECT_EQ(affinity(), std::set<int>{core});
  }
  EXPECT_EQ(affinity(), before);
}

TEST(BoundThread, RefusesACoreThatThereIsNot) {
  EXPECT_THROW(BoundThread(8000), LibraryError);
}

TEST(BindToCores, RefusesMoreCoresThanThereAre) {
  const int cores = static_cast<int>(usable_cores().size());
  on_thread([&] { EXPECT_THROW(bind_to_cores(cores, 1), ConfigError); });
  on_thread([&] { EXPECT_THROW(bind_to_cores(0, cores + 1), ConfigError); });
}

TEST(BindToCores, CountsSharesWithinWhatTheLauncherLeft) {
  const std::vector<int> cores = usable_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core: nothing to be bound to";
  on_thread([&] {
    bind_to_cores(1, 1);  // as mpirun does before it starts rank 1
    bind_to_cores(0, 1);
    EXPECT_EQ(affinity(), std::set<int>{cores[1]});
    EXPECT_THROW(bind_to_cores(1, 1), ConfigError);
  });
}

TEST(LocalCluster, DescribesThisMachineWithoutGuessing) {
  const Cluster cluster = detect_local_cluster(2);
  EXPECT_EQ(cluster.name, "local");
  EXPECT_EQ(cluster.workers(), 2);
  EXPECT_EQ(cluster.nodes, 1);
  EXPECT_EQ(cluster.device.kind, DeviceKind::cpu);
  EXPECT_FALSE(cluster.device.name.empty());
  EXPECT_FALSE(cluster.device.source.empty());
  EXPECT_EQ(cluster.host.cores, static_cast<int>(usable_cores().size()));
  EXPECT_TRUE(cluster.device.peak.empty());
  EXPECT_EQ(cluster.device.memory_bandwidth.si(), 0);
  EXPECT_EQ(cluster.intra_node.bandwidth.si(), 0);
}

TEST(LocalCluster, SharesTheMemoryEvenly) {
  const double whole = detect_local_cluster(1).device.memory.si();
  EXPECT_GT(whole, 1e8);
  EXPECT_DOUBLE_EQ(detect_local_cluster(4).device.memory.si(), whole / 4);
}

TEST(LocalCluster, AgreesWithProc) {
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  double kibibytes = 0;
  meminfo >> word >> kibibytes;
  ASSERT_EQ(word, "MemTotal:");
  EXPECT_NEAR(detect_local_cluster(1).device.memory.si(), kibibytes * 1024, kibibytes * 1024 * 0.1);
}

TEST(HostWarnings, NameAShortageOfCores) {
  const int cores = static_cast<int>(usable_cores().size());
  EXPECT_FALSE(host_warnings(cores + 1, 1).empty());
  if (!cpu_quota()) {
    EXPECT_TRUE(host_warnings(cores, 1).empty());
  }
}

TEST(MemoryNodes, OfOneCoreAreOne) {
  const BoundThread bound(usable_cores().front());
  EXPECT_EQ(usable_memory_nodes(), 1);
}

TEST(MemoryNodes, MatterToSeveralThreadsNearSeveral) {
  EXPECT_TRUE(memory_node_warnings(1, 4).empty());
  EXPECT_TRUE(memory_node_warnings(16, 1).empty());
  const std::vector<std::string> warnings = memory_node_warnings(16, 4);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("16 threads may run near 4 nodes"), std::string::npos);
}

TEST(HostWarnings, DoNotCountTheCoresOfOtherRanks) {
  const BoundThread bound(usable_cores().front());  // as each of four ranks may be
  if (!cpu_quota()) {
    EXPECT_TRUE(host_warnings(1, 4).empty());
  }
  EXPECT_FALSE(host_warnings(2, 4).empty());
}

}  // namespace
}  // namespace dlscale::backend
