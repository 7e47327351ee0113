#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "backend/host/core_clock.hpp"
#include "backend/host/host.hpp"
#include "backend/host/pages.hpp"
#include "backend/host/quota.hpp"
#include "backend/host/sysfs.hpp"
#include "backend/host/topology.hpp"
#include "core/base/error.hpp"
#include "tests/core/support.hpp"

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

/// A folder like those by which Linux describes a machine.
class FakeSystem : public testing::Test {
 protected:
  void add_cache(const std::string& index, const std::string& level, const std::string& size,
                 const std::string& type = "Data") {
    const std::string folder = "cpu0/cache/" + index;
    root_.write(folder + "/level", level + "\n");
    root_.write(folder + "/size", size + "\n");
    root_.write(folder + "/type", type + "\n");
    root_.write(folder + "/coherency_line_size", "64\n");
  }
  const test::TemporaryFolder root_;
};

using FakeProcessors = FakeSystem;
using FakeNodes = FakeSystem;
using Quota = FakeSystem;

TEST_F(FakeProcessors, CachesOfDataAreToldNearestFirst) {
  add_cache("index0", "1", "48K");
  add_cache("index1", "1", "32K", "Instruction");
  add_cache("index2", "3", "32768K", "Unified");
  add_cache("index3", "2", "64M", "Unified");
  const std::vector<DataCache> caches = data_caches_below(root_.path());
  ASSERT_EQ(caches.size(), 3U);
  EXPECT_EQ(caches[0].size, 48_KiB);
  EXPECT_EQ(caches[1].size, 64_MiB);
  EXPECT_EQ(caches[2].size, 32_MiB);
  EXPECT_EQ(caches[2].level, 3);
  EXPECT_EQ(caches[2].line, Bytes(64));
}

TEST_F(FakeProcessors, SizeMayBeInMebibytes) {
  add_cache("index0", "3", "36M");
  EXPECT_EQ(data_caches_below(root_.path()).at(0).size, 36_MiB);
}

TEST_F(FakeProcessors, UnknownSizesAreNotGuessed) {
  EXPECT_TRUE(data_caches_below(root_.path()).empty());
  add_cache("index0", "3", "much");
  add_cache("index1", "x", "64K");
  EXPECT_TRUE(data_caches_below(root_.path()).empty());
}

TEST(LastLevelCache, IsKnownWhereLinuxTellsIt) {
  if (data_caches_below("/sys/devices/system/cpu").empty()) {
    GTEST_SKIP() << "Linux does not tell the size of the last-level cache here";
  }
  EXPECT_GT(last_level_cache(), Bytes(0));
}

TEST(DataCachesOfThisMachine, GrowTowardsMemory) {
  const DataCaches caches = data_caches();
  for (std::size_t i = 1; i < caches.levels.size(); ++i) {
    EXPECT_GT(caches.levels[i].level, caches.levels[i - 1].level);
  }
  EXPECT_FALSE(caches.source.empty());
}

TEST_F(FakeNodes, HaveTheThreadsThatTheirListsName) {
  root_.write("node0/cpulist", "0-1,4\n");
  root_.write("node1/cpulist", "2-3,5\n");
  root_.write("power/cpulist", "6\n");  // no node
  EXPECT_EQ(memory_nodes_below(root_.path()),
            (std::map<int, int>{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}, {5, 1}}));
}

TEST_F(FakeNodes, MayHaveNoThreads) {
  root_.write("node0/cpulist", "0\n");
  root_.write("node2/cpulist", "\n");  // memory alone
  EXPECT_EQ(memory_nodes_below(root_.path()), (std::map<int, int>{{0, 0}}));
}

TEST_F(FakeNodes, AreNotGuessed) {
  EXPECT_TRUE(memory_nodes_below(root_ / "none").empty());
  root_.write("node0/cpulist", "all\n");
  EXPECT_TRUE(memory_nodes_below(root_.path()).empty());
}

TEST(PagedMemory, BeginsAtAPageAndIsZero) {
  const PagedMemory memory(10000, PageSize::small);
  EXPECT_EQ(memory.bytes(), 10000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % page_bytes(PageSize::small), 0U);
  for (std::size_t i = 0; i < memory.bytes(); ++i) ASSERT_EQ(memory.data()[i], std::byte{0});
}

TEST(PagedMemory, IsHugeOrRefused) {
  try {
    const PagedMemory memory(std::size_t{3} << 20, PageSize::huge);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % page_bytes(PageSize::huge), 0U);
    EXPECT_EQ(memory.data()[(std::size_t{3} << 20) - 1], std::byte{0});
  } catch (const Unsupported& reason) {
    EXPECT_NE(std::string(reason.what()).find("huge"), std::string::npos);
  }
}

TEST(PagedMemory, RefusesMoreThanThereIs) {
  EXPECT_THROW(PagedMemory(std::size_t{1} << 60, PageSize::small), ConfigError);
  EXPECT_THROW(PagedMemory(0, PageSize::small), std::logic_error);
}

TEST(CoreClock, IsThatOfAProcessor) {
  EXPECT_GT(core_clock_hertz(), 1e6);
  EXPECT_LT(core_clock_hertz(), 1e11);
}

/// Two threads that compute on one core take it from each other.
TEST(Preemptions, AreCountedWhereACoreIsShared) {
  const int core = usable_cores().front();
  const BoundThread bound(core);
  const auto before = preemptions();
  std::jthread other([core](const std::stop_token& stop) {
    const BoundThread same(core);
    while (!stop.stop_requested()) continue;
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (preemptions() == before && std::chrono::steady_clock::now() < end) continue;
  EXPECT_GT(preemptions(), before);
}

TEST_F(Quota, IsNoneWithoutControlGroups) {
  for (const char* groups : {"0::/\n", "", "nonsense\n:\n"}) {
    EXPECT_FALSE(quota_of(groups, root_.path()).has_value()) << groups;
  }
}

TEST_F(Quota, IsTheTightestOfAllParentsInVersion2) {
  root_.write("user/cpu.max", "100000 100000\n");
  root_.write("user/job/cpu.max", "300000 100000\n");
  root_.write("cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(quota_of("0::/user/job\n", root_.path()).value(), 1.0);
  EXPECT_DOUBLE_EQ(quota_of("0::/\n", root_.path()).value(), 1.5);
  root_.write("cpu.max", "max 100000\n");
  EXPECT_FALSE(quota_of("0::/\n", root_.path()).has_value());
}

TEST_F(Quota, ReadsVersion1) {
  const std::string groups = "5:cpuset:/\n4:cpu,cpuacct:/docker/a\n";
  root_.write("cpu,cpuacct/docker/a/cpu.cfs_quota_us", "50000\n");
  root_.write("cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(quota_of(groups, root_.path()).value(), 0.5);
  root_.write("cpu,cpuacct/docker/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(quota_of(groups, root_.path()).has_value());
}

}  // namespace
}  // namespace dlscale::backend
