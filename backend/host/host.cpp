#include "backend/host/host.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "backend/host/sysfs.hpp"
#include "backend/host/topology.hpp"
#include "core/base/error.hpp"
#include "core/system/environment.hpp"

namespace dlscale::backend {
namespace {

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

/// A set of processors as large as the kernel may require (1024 is the library's default).
class ProcessorSet {
 public:
  static constexpr int capacity = 8192;
  ProcessorSet() : set_(CPU_ALLOC(capacity)) { CPU_ZERO_S(bytes(), set_.get()); }
  static std::size_t bytes() { return CPU_ALLOC_SIZE(capacity); }
  [[nodiscard]] cpu_set_t* get() const { return set_.get(); }
  [[nodiscard]] bool has(int number) const { return CPU_ISSET_S(number, bytes(), set_.get()); }
  void add(int number) { CPU_SET_S(number, bytes(), set_.get()); }
  bool operator==(const ProcessorSet& other) const {
    return CPU_EQUAL_S(bytes(), set_.get(), other.get()) != 0;
  }

 private:
  std::unique_ptr<cpu_set_t, FreeSet> set_;
};

[[noreturn]] void fail(const char* call) {
  throw LibraryError(fmt::format("{} failed: {}.", call, std::strerror(errno)));
}

ProcessorSet allowed_processors() {
  ProcessorSet set;
  if (sched_getaffinity(0, ProcessorSet::bytes(), set.get()) != 0) fail("sched_getaffinity");
  return set;
}

/// True if the parent process may use other processors: the launcher has given each rank its own.
bool bound_by_launcher() {
  ProcessorSet parent;
  if (sched_getaffinity(getppid(), ProcessorSet::bytes(), parent.get()) != 0) return false;
  return !(parent == allowed_processors());
}

/// Topology of this machine, which does not change while a process runs.
const Topology& machine() {
  static const Topology found = read_topology();
  return found;
}

ConfigError too_few_cores(int share, int cores_per_rank, std::size_t usable) {
  return ConfigError(fmt::format(
      "the ranks of this node need {} cores or more, {} each, and may use {}{}. Use fewer ranks on "
      "this node, or fewer cores a rank; scripts/cluster makes hosts that share cores on purpose.",
      (share + 1) * cores_per_rank, cores_per_rank, usable,
      bound_by_launcher() ? " (the launcher bound this rank: mpirun --bind-to none lifts that)"
                          : ""));
}

}  // namespace

std::vector<int> usable_cores() {
  const ProcessorSet allowed = allowed_processors();
  std::vector<HardwareThread> threads = machine().threads;
  std::erase_if(threads, [&](const HardwareThread& t) { return !allowed.has(t.number); });
  std::sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) {
    return std::tie(a.place, a.core, a.number) < std::tie(b.place, b.core, b.number);
  });
  std::vector<int> numbers;
  numbers.reserve(threads.size());
  for (const HardwareThread& thread : threads) numbers.push_back(thread.number);
  return numbers;
}

void bind_to_cores(int share, int cores_per_rank) {
  EXPECT(share >= 0 && cores_per_rank >= 1);
  const std::vector<int> cores = usable_cores();
  const auto width = static_cast<std::size_t>(cores_per_rank);
  const std::size_t begin = static_cast<std::size_t>(share) * width;
  if (begin + width > cores.size()) throw too_few_cores(share, cores_per_rank, cores.size());
  ProcessorSet set;
  for (std::size_t i = begin; i < begin + width; ++i) set.add(cores[i]);
  if (sched_setaffinity(0, ProcessorSet::bytes(), set.get()) != 0) fail("sched_setaffinity");
}

struct BoundThread::Before {
  ProcessorSet allowed = allowed_processors();
};

BoundThread::BoundThread(int core) : before_(std::make_unique<Before>()) {
  ProcessorSet set;
  set.add(core);
  if (sched_setaffinity(0, ProcessorSet::bytes(), set.get()) != 0) fail("sched_setaffinity");
}

BoundThread::~BoundThread() {
  sched_setaffinity(0, ProcessorSet::bytes(), before_->allowed.get());
}

Cluster detect_local_cluster(int workers) {
  EXPECT(workers >= 1);
  const Topology& topology = machine();
  Cluster cluster;
  cluster.name = "local";
  cluster.doc = "this machine, as found by " + topology.source;
  cluster.nodes = 1;
  cluster.devices_per_node = workers;
  cluster.device.name = topology.processor;
  cluster.device.kind = DeviceKind::cpu;
  cluster.device.memory = physical_memory() / workers;
  cluster.device.source = topology.source;
  cluster.host.cores = static_cast<int>(usable_cores().size());
  cluster.host.source = topology.source;
  for (LinkSpec* link : {&cluster.host_device, &cluster.intra_node, &cluster.inter_node}) {
    link->source = "no data sheet; measured by bench";
  }
  cluster.host_device.name = "copy in memory";
  cluster.intra_node.name = "shared memory";
  cluster.inter_node.name = "none: one node";
  cluster.storage.source = "no data sheet; measured by bench";
  return cluster;
}

DataCaches data_caches() {
  const Topology& topology = machine();
  if (!topology.caches.empty()) return {topology.caches, topology.source};
  return {data_caches_below("/sys/devices/system/cpu"), "/proc and /sys"};
}

Bytes last_level_cache() {
  const DataCaches caches = data_caches();
  return caches.levels.empty() ? Bytes(0) : caches.levels.back().size;
}

int usable_memory_nodes() {
  static const std::map<int, int> node_of = memory_nodes_below("/sys/devices/system/node");
  std::set<int> nodes;
  for (const int core : usable_cores()) {
    if (const auto found = node_of.find(core); found != node_of.end()) nodes.insert(found->second);
  }
  return std::max(1, static_cast<int>(nodes.size()));
}

std::vector<std::string> memory_node_warnings(int threads, int nodes) {
  EXPECT(threads >= 1 && nodes >= 1);
  if (threads == 1 || nodes == 1) return {};
  return {fmt::format(
      "{} threads may run near {} nodes of memory, but one thread wrote the operands first, so "
      "that they lie on its node and the others fetch them from there; times may be those of "
      "remote memory. Run a rank a node: mpirun --map-by numa --bind-to numa, or numactl "
      "--cpunodebind=0.",
      threads, nodes)};
}

std::vector<std::string> host_warnings(int threads, int ranks) {
  EXPECT(threads >= 1 && ranks >= 1);
  std::vector<std::string> warnings;
  const std::size_t usable = usable_cores().size();
  if (static_cast<std::size_t>(threads) > usable) {
    warnings.push_back(
        fmt::format("{} cores are to be busy, but this process may use {}; times will be those of "
                    "cores shared in turn. Use fewer threads or ranks.",
                    threads, usable));
  }
  const int cores = threads * ranks;
  const std::optional<double> quota = cpu_quota();
  if (quota && *quota < cores) {
    warnings.push_back(
        fmt::format("the control group allows {:.2g} processors' time, less than {} busy cores; "
                    "ranks will be stopped now and then. Raise the container's CPU limit.",
                    *quota, cores));
  }
  return warnings;
}

}  // namespace dlscale::backend
