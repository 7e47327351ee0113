#include "app/doctor_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/cells/conditions.hpp"
#include "app/cpu_ticks.hpp"
#include "backend/host/quota.hpp"
#include "core/facts.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using report::percent;

constexpr double gigabyte = 1e9;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Finding ok(std::string name, std::string found) {
  return {std::move(name), FindingState::ok, std::move(found), ""};
}

Finding unavailable(std::string name, std::string why) {
  return {std::move(name), FindingState::unavailable, std::move(why), ""};
}

Finding warn(std::string name, std::string found, std::string advice) {
  return {std::move(name), FindingState::warning, std::move(found), std::move(advice)};
}

/// A fact of capture_facts(), which says of itself where it could not be read.
Finding as_told(std::string name, const std::string& fact) {
  constexpr std::string_view mark = "unavailable: ";
  if (fact.starts_with(mark)) return unavailable(std::move(name), fact.substr(mark.size()));
  return ok(std::move(name), fact);
}

/// Of all processors; a few may differ.
Finding governor(const MachineView& view) {
  std::set<std::string> all;
  std::error_code absent;
  for (const auto& cpu : fs::directory_iterator(view.root / "sys/devices/system/cpu", absent)) {
    const std::string word = first_line(cpu.path() / "cpufreq/scaling_governor");
    if (!word.empty()) all.insert(word);
  }
  if (all.empty()) {
    return unavailable("governor",
                       "none is told of (a virtual machine, or the firmware sets the clocks)");
  }
  const std::string found = fmt::format("{}", fmt::join(all, ", "));
  if (found == "performance") return ok("governor", found);
  return warn("governor", found,
              "Clocks follow the load, so that short kernels run slower than long ones. As root: "
              "cpupower frequency-set -g performance.");
}

Finding turbo(const Facts& facts) {
  const std::string& found = facts.at("turbo");
  if (found != "on") return as_told("turbo", found);
  return warn(
      "turbo", found,
      "Clocks depend on the temperature and on how many cores are busy, so that one rank is "
      "faster than one of many. To compare versions, as root: echo 1 > "
      "/sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
      "/sys/devices/system/cpu/cpufreq/boost.");
}

Finding hardware_threads(const MachineView& view, const Facts& facts) {
  const std::string control = facts.at("smt");
  const std::string active = first_line(view.root / "sys/devices/system/cpu/smt/active");
  if (active != "1") return as_told("hardware threads", control);
  return warn("hardware threads", "several a core",
              "Two threads of a core share its units, so that a rank is slower while its neighbour "
              "computes. Give each rank whole cores (--cores-per-rank), or as root: echo off > "
              "/sys/devices/system/cpu/smt/control.");
}

Finding addresses(const Facts& facts) {
  const std::string& found = facts.at("random_addresses");
  if (found != "on" && found != "all but the heap") {
    return as_told("random addresses", found);
  }
  return warn("random addresses", found,
              "Memory lies elsewhere in each process, which moves times of small kernels by what "
              "shares a cache line or set. Compare many processes (dlscale gate does), or start "
              "one with: setarch -R dlscale ...");
}

/// Above a fifth of a core in use by others on average there is company most of the time.
constexpr double quiet_load = 0.2;

Finding load(const MachineView& view) {
  const std::string line = first_line(view.root / "proc/loadavg");
  double minute = 0;
  if (!(std::istringstream(line) >> minute))
    return unavailable("load", "/proc/loadavg does not tell");
  const std::string found = fmt::format("{:.2f} threads in the last minute", minute);
  if (minute <= quiet_load) return ok("load", found);
  return warn("load", found,
              "Something has been running here. Look what it is (top), and wait until it is done, "
              "or measure with --wait-quiet SECONDS.");
}

/// This process is one of them.
Finding runnable_threads(const Facts& facts) {
  const std::string& found = facts.at("runnable_threads");
  int count = 0;
  if (!(std::istringstream(found) >> count)) return as_told("runnable threads", found);
  if (count <= 1) return ok("runnable threads", "this one alone");
  return warn("runnable threads", fmt::format("{} besides this one", count - 1),
              "They want a core now, and ranks wait for the slowest. Look which they are (top -H), "
              "and end them or wait.");
}

/// What a hypervisor gave to others in half a percent of the time shows in every interval.
constexpr double bearable_steal = 0.005;

Finding steal(const MachineView& view) {
  const auto ticks = read_cpu_ticks(view.root);
  if (!ticks || ticks->all <= 0) return unavailable("steal", "/proc/stat does not tell");
  const double share = ticks->stolen / ticks->all;
  const std::string found = fmt::format("{} of the time since the start", percent(share));
  if (share <= bearable_steal) return ok("steal", found);
  return warn("steal", found,
              "A hypervisor gives the cores to other machines, which no setting here changes. Take "
              "a machine of one's own, or let dlscale noise say what can be told in spite of it.");
}

Finding huge_pages(const Facts& facts) {
  const std::string& found = facts.at("huge_pages");
  if (found.find("[never]") == std::string::npos) {
    return as_told("transparent huge pages", found);
  }
  return warn("transparent huge pages", found,
              "Large arrays lie in pages of 4 KiB, whose places the processor does not remember, "
              "and bench latency --pages huge is refused. As root: echo madvise > "
              "/sys/kernel/mm/transparent_hugepage/enabled.");
}

Finding memory_nodes(const MachineView& view, const Facts& facts) {
  const std::string& nodes = facts.at("numa_nodes");
  if (nodes == "0") return ok("memory nodes", "one");
  if (nodes.starts_with("unavailable")) return as_told("memory nodes", nodes);
  const bool moved = first_line(view.root / "proc/sys/kernel/numa_balancing") == "1";
  return warn("memory nodes", fmt::format("{}{}", nodes, moved ? ", pages are moved" : ""),
              moved
                  ? "The kernel moves pages between them while kernels run, and memory of another "
                    "node is slower. As root: echo 0 > /proc/sys/kernel/numa_balancing; and bind "
                    "ranks: numactl --cpunodebind=0 --membind=0 dlscale ..."
                  : "Memory of another node is slower. Start a rank a node, or bind: numactl "
                    "--cpunodebind=0 --membind=0 dlscale ...");
}

Finding processor_limit(const MachineView& view) {
  const auto limit =
      backend::quota_of(text_of(view.root / "proc/self/cgroup"), view.root / "sys/fs/cgroup");
  if (!limit) return ok("limit of processors", "none");
  const std::string found = fmt::format("{:.3g} of {} cores", *limit, view.cores);
  if (*limit >= view.cores) return ok("limit of processors", found);
  return warn("limit of processors", found,
              "Threads beyond it are stopped for parts of each tenth of a second, whatever is "
              "measured. Use no more cores than that (--workers, --cores), or raise the limit "
              "(docker run --cpus, CPUQuota= of systemd).");
}

/// A line of /proc/meminfo, "MemTotal:  16384 kB", in bytes; 0 if it is not there.
double memory_of(const MachineView& view, std::string_view key) {
  std::ifstream stream(view.root / "proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    double kibibytes = 0;
    std::istringstream(line.substr(key.size())) >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

Finding memory_limit(const MachineView& view) {
  const double limit =
      backend::memory_limit_of(text_of(view.root / "proc/self/cgroup"), view.root / "sys/fs/cgroup")
          .value_or(0);
  const double all = memory_of(view, "MemTotal:");
  if (limit <= 0 || (all > 0 && limit >= all)) return ok("limit of memory", "none");
  return warn("limit of memory",
              fmt::format("{:.1f} of {:.1f} GB", limit / gigabyte, all / gigabyte),
              "A process that needs more is killed without a word. Choose batches that fit, or "
              "raise it (docker run --memory, MemoryMax= of systemd).");
}

/// Below a tenth the kernel drops what files it had read, and times of reading change.
constexpr double scarce = 0.1;

Finding free_memory(const MachineView& view) {
  const double all = memory_of(view, "MemTotal:");
  const double free = memory_of(view, "MemAvailable:");
  if (all <= 0) return unavailable("free memory", "/proc/meminfo does not tell");
  const std::string found = fmt::format("{:.1f} of {:.1f} GB", free / gigabyte, all / gigabyte);
  if (free >= scarce * all) return ok("free memory", found);
  return warn("free memory", found,
              "Files that were read are dropped again, and a training may be killed. End what "
              "holds the memory (ps aux --sort -rss).");
}

/// A session of results with its data set takes some hundred megabytes.
constexpr double little_space = 2e9;

Finding disk(const MachineView& view) {
  const Space& space = view.results;
  const std::string found =
      fmt::format("{:.1f} GB free at {}", space.free_bytes / gigabyte, space.place);
  if (space.free_bytes >= little_space) return ok("disk", found);
  return warn("disk", found,
              "Results and data sets are written here, and a full disk ends a session. Free space, "
              "or choose another place with -o and --data.");
}

/// What Docker gives a container unless --shm-size says otherwise (docs.docker.com, docker run).
constexpr double docker_shared_memory = 64.0 * 1024 * 1024;

Finding shared_memory(const MachineView& view) {
  const Space& space = view.shared_memory;
  if (space.all_bytes <= 0) {
    return {"shared memory", FindingState::missing, space.place + " is not there",
            "MPI and NCCL pass messages between ranks of a node by it. Mount it: mount -t tmpfs "
            "tmpfs " +
                space.place + "."};
  }
  const std::string found =
      fmt::format("{:.2f} GB at {}, {:.2f} GB free", space.all_bytes / gigabyte, space.place,
                  space.free_bytes / gigabyte);
  const bool small = space.all_bytes <= docker_shared_memory;
  if (!small && space.free_bytes > docker_shared_memory) return ok("shared memory", found);
  return warn("shared memory", found,
              small ? "MPI and NCCL pass messages between ranks of a node by it, and fail when it "
                      "is full. Start the container with --shm-size=1g."
                    : "MPI and NCCL pass messages between ranks of a node by it, and fail when it "
                      "is full. Remove what processes left there that have ended.");
}

/// Read without a call of the system: those for which the kernel has code that programs map
/// (vdso(7)), and the virtual clocks of KVM and Hyper-V.
constexpr std::array fast_clocks{
    "tsc",      "kvm-clock",        "arch_sys_counter", "hyperv_clocksource_tsc_page",
    "timebase", "riscv_clocksource"};

Finding clock(const MachineView& view) {
  const std::string found =
      first_line(view.root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (found.empty()) return unavailable("clock", "the kernel does not tell which it reads");
  const bool fast = std::ranges::find(fast_clocks, found) != fast_clocks.end();
  if (fast) return ok("clock", found);
  return warn("clock", found,
              "To read it takes a call of the system, which short kernels do not hide. Look why "
              "the kernel gave up the processor's own (dmesg | grep -i clocksource).");
}

Finding heat(const MachineView& view) {
  const Conditions now = look_at_machine(view.root);
  if (!now.throttled) return unavailable("heat", "the kernel does not count");
  if (*now.throttled == 0) return ok("heat", "never slowed since the start");
  return warn("heat", fmt::format("slowed {} times since the start", *now.throttled),
              "The processor was too hot for its clock. Look after fans and air, or lower the "
              "clock so that it can be kept.");
}

}  // namespace

Space space_at(const std::string& place) {
  struct statvfs held = {};
  if (::statvfs(place.c_str(), &held) != 0) return {place, 0, 0};
  const auto block = static_cast<double>(held.f_frsize);
  return {place, block * static_cast<double>(held.f_bavail),
          block * static_cast<double>(held.f_blocks)};
}

std::vector<Finding> check_machine(const MachineView& view) {
  const Facts facts = capture_facts(view.root, [](const char*) { return nullptr; });
  return {governor(view),
          turbo(facts),
          hardware_threads(view, facts),
          addresses(facts),
          load(view),
          runnable_threads(facts),
          steal(view),
          huge_pages(facts),
          memory_nodes(view, facts),
          processor_limit(view),
          memory_limit(view),
          free_memory(view),
          disk(view),
          shared_memory(view),
          clock(view),
          heat(view)};
}

}  // namespace dlscale::app
