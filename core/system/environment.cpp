#include "core/system/environment.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/fnv1a.hpp"
#include "core/system/build_info.hpp"
#include "core/system/facts.hpp"
#include "core/system/input_file.hpp"
#include "core/text/time_text.hpp"

namespace dlscale {
namespace {

/// Prefixes of recorded variables. Of our own, only those that affect a result: the others are user
/// folders, and the rendezvous of ranks.
constexpr std::array recorded_prefixes{"OMP_",  "OMPI_MCA_", "MPIR_CVAR_",     "NCCL_",
                                       "DNNL_", "ONEDNN_",   "DLSCALE_CLUSTER"};
/// Variables of Open MPI's launcher about one launch: addresses, folders, job numbers.
constexpr std::array left_out_prefixes{"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir",
                                       "OMPI_MCA_pmix", "OMPI_MCA_shmem_RUNTIME"};

bool starts_with_any(std::string_view text, std::span<const char* const> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](const char* prefix) { return text.starts_with(prefix); });
}

std::string cpu_model() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size()) == 0 ? std::string(name.data()) : "unknown";
}

/// {0, 1, 2, 5} → "0-2,5"
std::string ranges_text(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    text += text.empty() ? "" : ",";
    text += last == i ? fmt::to_string(cores[i]) : fmt::format("{}-{}", cores[i], cores[last]);
    i = last + 1;
  }
  return text;
}

std::string affinity_text() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "unknown";
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return ranges_text(cores);
}

std::string kernel_text() {
  utsname names = {};
  if (uname(&names) != 0) return "unknown";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

std::string governor() {
  const std::string word = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  return word.empty() ? "unknown" : word;
}

/// Tests by computation, on any processor: half of the smallest normal number is denormal, and many
/// times the smallest denormal is normal. Compares bits, because a comparison might take denormals
/// as zero, too.
std::string denormals() {
  const volatile float normal = std::numeric_limits<float>::min();
  const volatile float denormal = std::numeric_limits<float>::denorm_min();
  const bool results = std::bit_cast<std::uint32_t>(normal / 2) == 0;
  const bool operands = std::bit_cast<std::uint32_t>(denormal * 1e10F) == 0;
  if (results && operands) return "flushed to zero, taken as zero";
  if (results) return "flushed to zero";
  return operands ? "taken as zero" : "kept";
}

/// Records only variables that affect results, so that no secret of the user's shell gets into a
/// result file.
std::map<std::string, std::string> recorded_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    if (starts_with_any(text, recorded_prefixes) && !starts_with_any(text, left_out_prefixes)) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace

Environment capture_environment() {
  Environment environment;
  environment.date = utc_now();
  environment.host_hash = fmt::format("{:016x}", fnv1a(host_name()));
  environment.cpu = cpu_model();
  environment.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  environment.affinity = affinity_text();
  environment.kernel = kernel_text();
  environment.governor = governor();
  environment.denormals = denormals();
  environment.memory_bytes = physical_memory().si();
  const BuildInfo build = build_info();
  environment.compiler = build.compiler;
  environment.flags = build.flags;
  environment.commit = build.commit;
  environment.dirty = build.dirty;
  environment.load = first_line("/proc/loadavg");
  environment.variables = recorded_variables();
  environment.facts = capture_facts();
  return environment;
}

Bytes physical_memory() {
  return Bytes(static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace dlscale
