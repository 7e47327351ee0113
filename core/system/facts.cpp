#include "core/system/facts.hpp"

#include <fmt/format.h>
#include <sys/personality.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/system/build_info.hpp"
#include "core/system/input_file.hpp"
#include "core/text/time_text.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;
using Lookup = std::function<const char*(const char*)>;

std::string lacks(std::string_view path) {
  return unavailable(fmt::format("this system has no {}", path));
}

/// First line of a file, or "unavailable" if the file is missing.
std::string line_of(const fs::path& root, std::string_view path) {
  std::string line = first_line(root / path);
  return line.empty() ? lacks(fmt::format("/{}", path)) : line;
}

std::string boot_time(const fs::path& root) {
  constexpr std::string_view key = "btime ";
  std::ifstream stream(root / "proc/stat");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    std::time_t time = 0;
    const auto [end, error] =
        std::from_chars(line.data() + key.size(), line.data() + line.size(), time);
    constexpr std::time_t latest = 253402300799;  // the end of the year 9999
    if (error != std::errc() || end != line.data() + line.size() || time < 0 || time > latest) {
      break;
    }
    return time_text(time);
  }
  return unavailable("/proc/stat does not tell btime");
}

/// Fourth word of /proc/loadavg, "2/345": runnable threads, and all threads.
std::string runnable_threads(const fs::path& root) {
  std::istringstream line(first_line(root / "proc/loadavg"));
  std::string word;
  for (int i = 0; i < 4; ++i) {
    word.clear();
    line >> word;
  }
  const auto slash = word.find('/');
  return slash == std::string::npos ? lacks("/proc/loadavg") : word.substr(0, slash);
}

/// Turbo state from Intel's frequency driver, else from the generic one.
std::string turbo(const fs::path& root) {
  const std::string off = first_line(root / "sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!off.empty()) return off == "0" ? "on" : "off";
  const std::string boost = first_line(root / "sys/devices/system/cpu/cpufreq/boost");
  if (!boost.empty()) return boost == "0" ? "off" : "on";
  return unavailable("no driver of frequencies tells (intel_pstate/no_turbo, cpufreq/boost)");
}

/// Address randomisation of the machine, and whether this process was started without it (setarch
/// -R).
std::string random_addresses(const fs::path& root) {
  constexpr unsigned long only_ask = 0xffffffff;
  const int now = personality(only_ask);
  if (now != -1 && (static_cast<unsigned>(now) & ADDR_NO_RANDOMIZE) != 0) {
    return "off for this process";
  }
  const std::string word = first_line(root / "proc/sys/kernel/randomize_va_space");
  if (word == "0") return "off";
  if (word == "1") return "all but the heap";
  if (word == "2") return "on";
  return lacks("/proc/sys/kernel/randomize_va_space");
}

/// Minimum and maximum current clock of all processors, from /proc/cpuinfo.
std::string clocks(const fs::path& root) {
  std::vector<double> all;
  std::ifstream stream(root / "proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const auto colon = line.find(": ");
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    double megahertz = 0;
    if (std::istringstream(line.substr(colon + 2)) >> megahertz) all.push_back(megahertz);
  }
  if (all.empty()) return unavailable("/proc/cpuinfo has no cpu MHz");
  const auto [least, most] = std::ranges::minmax(all);
  return fmt::format("{:.0f} to {:.0f} MHz", least, most);
}

/// The names in a folder, sorted; none if the folder does not exist.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// Active Ethernet and InfiniBand links: "eth0 10000 Mb/s, mlx5_0/1 200 Gb/sec (4X HDR)".
std::string links(const fs::path& root) {
  std::vector<std::string> found;
  const fs::path ethernet = root / "sys/class/net";
  for (const std::string& name : names_in(ethernet)) {
    if (name == "lo" || first_line(ethernet / name / "operstate") != "up") continue;
    const std::string speed = first_line(ethernet / name / "speed");
    const bool known = !speed.empty() && speed.front() != '-';
    found.push_back(fmt::format("{} {}", name, known ? speed + " Mb/s" : "of unknown speed"));
  }
  const fs::path infiniband = root / "sys/class/infiniband";
  for (const std::string& name : names_in(infiniband)) {
    for (const std::string& port : names_in(infiniband / name / "ports")) {
      found.push_back(fmt::format("{}/{} {}", name, port,
                                  first_line(infiniband / name / "ports" / port / "rate")));
    }
  }
  if (found.empty()) return unavailable("no link is up, or none is told of in /sys/class");
  return fmt::format("{}", fmt::join(found, ", "));
}

struct Scheduler {
  const char* name;
  const char* job;    ///< variable with the job's number
  const char* nodes;  ///< variable with its nodes; for PBS and SGE a file that lists them
};

// sbatch(1), flux-environment(7), qsub(1B) of PBS, bsub(1), qsub(1) of Grid Engine.
constexpr std::array schedulers{
    Scheduler{"Slurm", "SLURM_JOB_ID", "SLURM_JOB_NODELIST"},
    Scheduler{"Flux", "FLUX_JOB_ID", "FLUX_JOB_NNODES"},
    Scheduler{"PBS", "PBS_JOBID", "PBS_NODEFILE"},
    Scheduler{"LSF", "LSB_JOBID", "LSB_HOSTS"},
    Scheduler{"Grid Engine", "JOB_ID", "PE_HOSTFILE"},
};

void add_scheduler(Facts& facts, const Lookup& variable) {
  for (const Scheduler& scheduler : schedulers) {
    const char* job = variable(scheduler.job);
    if (job == nullptr) continue;
    const char* nodes = variable(scheduler.nodes);
    facts["scheduler"] = scheduler.name;
    facts["scheduler_job"] = job;
    facts["scheduler_nodes"] = nodes != nullptr
                                   ? std::string(nodes)
                                   : unavailable(fmt::format("{} is not set", scheduler.nodes));
    return;
  }
  facts["scheduler"] = unavailable("this process runs in no job of a scheduler");
}

/// Container of this process; with a digest only if the runtime reports it inside.
std::string container(const fs::path& root, const Lookup& variable) {
  if (const char* image = variable("APPTAINER_CONTAINER"); image != nullptr) {
    return fmt::format("Apptainer {}", image);
  }
  if (const char* image = variable("SINGULARITY_CONTAINER"); image != nullptr) {
    return fmt::format("Singularity {}", image);
  }
  std::ifstream podman(root / "run/.containerenv");
  for (std::string line; std::getline(podman, line);) {
    if (line.starts_with("imageid=")) return fmt::format("Podman {}", line.substr(8));
  }
  std::error_code none;
  if (fs::exists(root / "run/.containerenv", none)) return "Podman, of an unknown image";
  if (fs::exists(root / ".dockerenv", none)) {
    return "Docker, of an unknown image (it does not tell those inside)";
  }
  return unavailable("no sign of a container");
}

std::string local_changes() {
  const BuildInfo build = build_info();
  if (build.commit == "unknown") return unavailable("built outside a git repository");
  return build.changes.empty() ? "none" : build.changes;
}

}  // namespace

std::string unavailable(const std::string& why) {
  return "unavailable: " + why;
}

Facts capture_facts(const fs::path& root, const Lookup& variable) {
  Facts facts;
  facts["boot_time"] = boot_time(root);
  facts["runnable_threads"] = runnable_threads(root);
  facts["turbo"] = turbo(root);
  facts["random_addresses"] = random_addresses(root);
  facts["smt"] = line_of(root, "sys/devices/system/cpu/smt/control");
  facts["numa_nodes"] = line_of(root, "sys/devices/system/node/online");
  facts["huge_pages"] = line_of(root, "sys/kernel/mm/transparent_hugepage/enabled");
  facts["clocks"] = clocks(root);
  facts["links"] = links(root);
  facts["container"] = container(root, variable);
  facts["local_changes"] = local_changes();
  add_scheduler(facts, variable);
  return facts;
}

Facts capture_facts() {
  return capture_facts("/", [](const char* name) { return std::getenv(name); });
}

}  // namespace dlscale
