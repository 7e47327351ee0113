#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/doctor/doctor.hpp"
#include "backend/comm/launch.hpp"
#include "backend/host/quota.hpp"
#include "backend/host/topology.hpp"
#include "bench/engine/speed_samples.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/system/build_info.hpp"
#include "core/system/input_file.hpp"
#include "core/system/process.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/system/this_command_line.hpp"
#include "core/text/numbers.hpp"
#include "suite/launch/launch_command.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using enum FindingState;

constexpr double gigabyte = 1e9;
constexpr double child_limit_s = 30;  ///< far longer than a working program takes

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Finding usable_cores(const fs::path& root, int cores) {
  const auto limit =
      backend::quota_of(content_of(root / "proc/self/cgroup"), root / "sys/fs/cgroup");
  const std::string usable = counted(cores, "usable core");
  if (!limit || *limit >= cores) return {"cores", ok, usable};
  return {"cores", warning, fmt::format("{}, limited to {:.3g}", usable, *limit),
          "The control group stops threads beyond its limit for parts of each 0.1 s. Use fewer "
          "cores (--workers, --cores), or raise the limit (docker run --cpus, CPUQuota=)."};
}

Finding governor(const fs::path& root) {
  std::set<std::string> all;
  std::error_code absent;
  for (const auto& cpu : fs::directory_iterator(root / "sys/devices/system/cpu", absent)) {
    const std::string word = first_line(content_of(cpu.path() / "cpufreq/scaling_governor"));
    if (!word.empty()) all.insert(word);
  }
  if (all.empty()) return {"governor", unavailable, "hidden by a virtual machine or the firmware"};
  const std::string found = fmt::format("{}", fmt::join(all, ", "));
  if (found == "performance") return {"governor", ok, found};
  return {"governor", warning, found,
          "Clocks follow the load, so that short kernels run slower than long ones. As root: "
          "cpupower frequency-set -g performance."};
}

/// A value of /proc/meminfo ("MemTotal:  16384 kB") in bytes; 0 if it is missing.
double memory_of(const fs::path& root, std::string_view key) {
  const std::string text = content_of(root / "proc/meminfo");
  const std::size_t at = text.find(key);
  double kibibytes = 0;
  if (at != std::string::npos) std::istringstream(text.substr(at + key.size())) >> kibibytes;
  return kibibytes * 1024;
}

Finding memory(const fs::path& root) {
  constexpr double scarce = 0.1;  // below it the kernel drops files from its cache
  const double all = memory_of(root, "MemTotal:");
  const double free = memory_of(root, "MemAvailable:");
  if (all <= 0) return {"memory", unavailable, "/proc/meminfo is not readable"};
  const double limit =
      backend::memory_limit_of(content_of(root / "proc/self/cgroup"), root / "sys/fs/cgroup")
          .value_or(all);
  std::string found = fmt::format("{:.1f} of {:.1f} GB available", free / gigabyte, all / gigabyte);
  if (limit < all) found += fmt::format(", limited to {:.1f} GB", limit / gigabyte);
  if (limit >= all && free >= scarce * all) return {"memory", ok, found};
  return {"memory", warning, found,
          "A training that needs more is killed. End what uses the memory (ps aux --sort -rss), "
          "choose a smaller batch, or raise the limit (docker run --memory, MemoryMax=)."};
}

Finding load(const fs::path& root) {
  constexpr double quiet = 0.2;  // threads on average
  double minute = 0;
  std::istringstream text(content_of(root / "proc/loadavg"));
  if (!(text >> minute)) return {"load", unavailable, "/proc/loadavg is not readable"};
  const std::string found = fmt::format("{:.2f} threads in the last minute", minute);
  if (minute <= quiet) return {"load", ok, found};
  return {"load", warning, found,
          "Other programs ran. Find them (top) and wait, or measure with --wait-quiet SECONDS."};
}

/// Checks the speed by the witness, with the tolerance of --wait-quiet.
Finding speed(const std::function<Seconds()>& witness) {
  std::vector<double> times(30);
  std::ranges::generate(times, [&witness] { return witness().si(); });
  const auto [least, most] = std::ranges::minmax(times);
  const double over = most / least - 1;
  const std::string found = fmt::format("fixed work up to {} slower", percent(over));
  if (over <= bench::SpeedSamples::tolerance) return {"speed", ok, found};
  return {"speed", warning, found,
          "Clocks, other programs or a hypervisor change the speed of this core. Measure with "
          "--wait-quiet SECONDS; dlscale noise finds the smallest detectable change."};
}

Finding gpus(const fs::path& root) {
  const std::string driver = first_line(content_of(root / "proc/driver/nvidia/version"));
  const int count = nvidia_gpus(root);
  const std::string found = fmt::format("{} of NVIDIA", counted(count, "GPU"));
  if (!driver.empty()) return {"GPUs", ok, fmt::format("{}, {}", found, driver)};
  if (count == 0) return {"GPUs", ok, found};
  return {"GPUs", missing, found + " without a driver",
          "Install NVIDIA's driver, or pass the GPUs to the container (docker run --gpus all)."};
}

Finding build() {
  const BuildInfo info = build_info();
  return {"dlscale", ok,
          fmt::format("{} (commit {}{}), {}", info.version, info.commit,
                      info.dirty ? ", with local changes" : "", info.compiler)};
}

/// Members for GPUs are required only if there is a GPU.
template <class Member>
void add_family(std::vector<Finding>& findings, const std::string& kind, int gpus) {
  const auto add = [&](std::string_view name, const std::string& why, std::string_view doc) {
    const bool for_gpus =
        name.starts_with("cuda") || name == "nccl" || name == "mpi_cuda" || name == "mpi_staged";
    Finding finding{fmt::format("{} {}", kind, name), ok, std::string(why.empty() ? doc : why)};
    if (!why.empty() && (gpus > 0 || !for_gpus)) {
      finding.state = missing;
      finding.advice = "Install what it lacks (scripts/setup), configure and build again.";
    }
    findings.push_back(std::move(finding));
  };
  const auto members = family<Member>();
  for (const Member* each : members.members) add(each->name, obstacle(*each), each->doc);
  for (const Absent& each : members.absent)
    add(each.name, fmt::format("not built: {}", each.reason), "");
}

/// The exit of a program and its output; nothing if it cannot be started.
std::optional<std::pair<ChildExit, std::string>> ask(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  const fs::path log = temporary_folder() / fmt::format("dlscale-doctor-{}", getpid());
  try {
    const ChildExit exit =
        run_child(command, variables, {.variables = {}, .log = log, .timeout_s = child_limit_s});
    std::string text = content_of(log);
    fs::remove(log);
    return std::pair(exit, std::move(text));
  } catch (const Error&) {
    return {};
  }
}

Finding git() {
  const auto answer = ask({"git", "--version"});
  if (answer && answer->first.code == 0) return {"git", ok, first_line(answer->second)};
  return {"git", missing, "cannot be started",
          "dlscale gate --base-commit and dlscale history bisect need it: apt install git."};
}

Finding configurations() {
  try {
    return {"configurations", ok, config_root().string()};
  } catch (const Error& error) {
    return {"configurations", missing, "not found", error.what()};
  }
}

std::string advice_on(const std::string& launcher) {
  return fmt::format(
      "Nothing runs on several ranks without it. Try: {} {} 2 hostname. It must be of the MPI that "
      "this program was built with.",
      launcher, DLSCALE_MPIEXEC_RANKS);
}

/// Lets the launcher start two ranks, which add numbers.
Finding hello_of_ranks(const std::string& program) {
  const auto answer =
      ask({program, DLSCALE_MPIEXEC_RANKS, "2", this_program().string(), "__hello", "2"},
          suite::launcher_settings());
  return answer ? tried_launcher(program, answer->first, answer->second)
                : Finding{"launcher", missing, program + " cannot be started", advice_on(program)};
}

Finding launcher(Hello hello) {
  const std::string program = DLSCALE_MPIEXEC;
  if (program.empty()) {
    return {"launcher", missing, "this build has no MPI",
            "Nothing runs on several ranks. Install libopenmpi-dev and openmpi-bin, configure and "
            "build again."};
  }
  const auto launch = backend::detect_launch([](const char* value) { return std::getenv(value); });
  if (launch) {
    return {"launcher", warning, "not tried: this process was started by " + launch->launcher,
            "Start dlscale doctor without a launcher, once on each machine."};
  }
  if (hello == Hello::left_out) return {"launcher", unavailable, program + " not tried (--quick)"};
  return hello_of_ranks(program);
}

/// Open MPI counts cores as slots by default (mpirun(1), "slots").
Finding ranks() {
  std::set<int> slots;
  for (const auto& thread : backend::read_topology().threads) slots.insert(thread.core);
  const std::string found =
      fmt::format("{} by mpirun without --oversubscribe", counted(std::ssize(slots), "rank"));
  const bool allowed = std::getenv("OMPI_ALLOW_RUN_AS_ROOT") != nullptr &&
                       std::getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != nullptr;
  if (geteuid() != 0 || allowed) return {"ranks", ok, found};
  return {"ranks", warning, found + "; this user is root",
          "mpirun refuses root, unless dlscale run starts it. Work as another user or, in a "
          "container, export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1."};
}

}  // namespace

int nvidia_gpus(const fs::path& root) {
  int count = 0;
  std::error_code absent;
  for (const auto& device : fs::directory_iterator(root / "sys/bus/pci/devices", absent)) {
    // Class 03 of the PCI Code and ID Assignment Specification: display controllers.
    const bool nvidia = content_of(device.path() / "vendor").starts_with("0x10de");
    if (nvidia && content_of(device.path() / "class").starts_with("0x03")) ++count;
  }
  return count;
}

std::string obstacle(const backend::ComputeBackend& member) {
  try {
    static_cast<void>(member.open({}));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string obstacle(const backend::CommBackend& member) {
  return member.obstacle == nullptr ? "" : member.obstacle();
}

Finding shared_memory(const fs::space_info& space) {
  constexpr std::uintmax_t docker = 64U << 20U;  // default of --shm-size
  if (space.capacity == 0 || space.capacity == static_cast<std::uintmax_t>(-1)) {
    return {"shared memory", missing, "/dev/shm does not exist",
            "MPI and NCCL need it between ranks of a node: mount -t tmpfs tmpfs /dev/shm."};
  }
  const std::string found =
      fmt::format("{:.2f} of {:.2f} GB free", static_cast<double>(space.available) / gigabyte,
                  static_cast<double>(space.capacity) / gigabyte);
  if (std::min(space.capacity, space.available) > docker) return {"shared memory", ok, found};
  return {"shared memory", warning, found,
          "MPI and NCCL fail when /dev/shm is full. Start the container with --shm-size=1g, or "
          "remove files of ended processes there."};
}

std::string telling_line(const std::string& output) {
  for (const char* mark : {"dlscale: ", "rror"}) {
    const std::size_t at = output.find(mark);
    if (at == std::string::npos) continue;
    return first_line(output.substr(output.rfind('\n', at) + 1));
  }
  return first_line(output.substr(std::min(output.find_first_not_of("-= \t\n"), output.size())));
}

Finding tried_launcher(const std::string& program, const ChildExit& exit,
                       const std::string& output) {
  const std::size_t met = output.rfind("2 ranks by ");
  const auto found = [&](std::string_view what) { return fmt::format("{}: {}", program, what); };
  if (met == std::string::npos) {
    const std::string why = exit.timed_out ? "two ranks did not end" : telling_line(output);
    return {"launcher", missing, found(why), advice_on(program)};
  }
  const std::string ranks = first_line(output.substr(met));
  if (exit.code == 0) return {"launcher", ok, found(ranks)};
  return {
      "launcher", warning,
      found(fmt::format(
          "{}, which {}", ranks,
          exit.timed_out ? "then did not end" : fmt::format("ended with exit code {}", exit.code))),
      fmt::format("The ranks met and added, and failed after that, so that suites may stop. See "
                  "what they say: {} {} 2 {} __hello 2.",
                  program, DLSCALE_MPIEXEC_RANKS, this_program().string())};
}

FindingGroup check_machine(const fs::path& root, int cores,
                           const std::function<Seconds()>& witness) {
  return {"machine",
          {usable_cores(root, cores), governor(root), memory(root), load(root), speed(witness),
           gpus(root)}};
}

FindingGroup check_software(int gpus) {
  FindingGroup group{"software", {build()}};
  add_family<backend::ComputeBackend>(group.findings, "backend", gpus);
  add_family<backend::CommBackend>(group.findings, "communicator", gpus);
  group.findings.push_back(git());
  group.findings.push_back(configurations());
  return group;
}

FindingGroup check_links(Hello hello) {
  std::error_code absent;
  return {"links", {launcher(hello), ranks(), shared_memory(fs::space("/dev/shm", absent))}};
}

}  // namespace dlscale::app
