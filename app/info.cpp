// dlscale info: prints the parts of this build, the missing parts with reasons, and the machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/verb.hpp"
#include "app/doctor/doctor.hpp"
#include "app/history/info_sheets.hpp"
#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "backend/compute/native/fft/fourier_library.hpp"
#include "backend/compute/plan_cache.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/config/config_path.hpp"
#include "core/system/environment.hpp"

namespace dlscale::app {
namespace {

template <class Member>
void print_obstacle(const Member& member) {
  if constexpr (requires { obstacle(member); }) {
    const std::string reason = obstacle(member);
    if (!reason.empty()) fmt::print("  {:<20} built, but not usable here: {}\n", "", reason);
  }
}

template <class Member>
void print_family(std::string_view title) {
  const auto members = family<Member>();
  fmt::print("{}\n", title);
  for (const Member* member : members.members) {
    if constexpr (requires { member->doc; }) {
      fmt::print("  {:<20} {}\n", member->name, member->doc);
    } else {
      fmt::print("  {}\n", member->name);
    }
    print_obstacle(*member);
  }
  for (const Absent& absent : members.absent) {
    fmt::print("  {:<20} not in this build: {}\n", absent.name, absent.reason);
  }
}

/// The collectives of the model, each with its algorithms.
void print_collectives() {
  using namespace collective;
  fmt::print("collective algorithms of the model\n");
  for (const Collective one : collectives) {
    fmt::print("  {}\n", to_string(one));
    for (const Algorithm* algorithm : algorithms_of(one)) {
      fmt::print("    {:<20} {}\n", algorithm->name, algorithm->doc);
    }
  }
}

void print_machine() {
  const Environment environment = capture_environment();
  fmt::print("machine\n  {} ({} cores, this process may use {}), {:.1f} GiB, {}\n", environment.cpu,
             environment.cores, environment.affinity, environment.memory_bytes / 1073741824.0,
             environment.kernel);
}

/// Prints where algorithm choices by trial on a GPU are kept between processes.
void print_plan_cache() {
  const auto folder = backend::plan_cache_folder();
  fmt::print("choices of plans by trial on GPUs\n  {}\n",
             folder ? fmt::format("kept in {}", folder->string())
                    : "not kept (DLSCALE_PLAN_CACHE names a folder to keep them in)");
}

struct InfoOptions {
  bool devices = false;
  bool links = false;
  bool frameworks = false;
};

/// Prints the requested tables; false if none was requested.
bool print_sheets(const InfoOptions& options) {
  if (options.devices) print_devices();
  if (options.links) print_links();
  if (options.frameworks) print_frameworks();
  return options.devices || options.links || options.frameworks;
}

ExitCode info(const InfoOptions& options) {
  if (print_sheets(options)) return ExitCode::ok;
  const Environment environment = capture_environment();
  fmt::print("dlscale {} (commit {}{}), {}, {}\n", DLSCALE_VERSION, environment.commit,
             environment.dirty ? ", with local changes" : "", environment.compiler,
             environment.flags);
  print_machine();
  print_family<backend::ComputeBackend>("compute backends");
  print_family<backend::native_device::spectral::FourierLibrary>("Fourier transforms of native");
  print_plan_cache();
  print_family<backend::CommBackend>("communicators");
  print_family<bench::Benchmark>("benchmarks");
  print_collectives();
  for (const char* group : {"networks", "clusters", "suites", "devices", "links", "frameworks"}) {
    fmt::print("{}\n  {}\n", group, fmt::join(config_names(group), "  "));
  }
  return ExitCode::ok;
}

void declare_info(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<InfoOptions>();
  verb.add_flag("--devices", options->devices, "The data sheets of GPUs in configs/devices, only");
  verb.add_flag("--links", options->links, "The kinds of links in configs/links, only");
  verb.add_flag("--frameworks", options->frameworks,
                "What is known of frameworks, in configs/frameworks, only");
  verb.footer("Example: dlscale info\n         dlscale info --devices");
  verb.callback([options, &result] { result = info(*options); });
}

}  // namespace

extern const Verb info_verb{"info", "Say what this build holds, what it lacks and why",
                            declare_info};

}  // namespace dlscale::app
