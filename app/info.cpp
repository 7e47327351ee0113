// dlscale info: prints the parts of this build, the missing parts with reasons, and the machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/verb.hpp"
#include "app/doctor/doctor.hpp"
#include "app/report/measured_steps.hpp"
#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "backend/compute/native/fft/fourier_library.hpp"
#include "backend/compute/plan_cache.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/collective/algorithm.hpp"
#include "core/config/config_path.hpp"
#include "core/run/framework_file.hpp"
#include "core/system/environment.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

/// The peak in TFLOP/s; a dash if the sheet has none.
std::string peak_text(const DeviceSheet& sheet, SheetFormat format) {
  const auto found = sheet.peak.find(format);
  if (found == sheet.peak.end()) return "–";
  const double tera = found->second.si() * 1e-12;
  return fmt::format("{:.{}g}", tera, tera < 1e4 ? 4 : 5);
}

/// Whether every figure was compared with a source that can be found.
template <class Sheet>
std::string_view checked_text(const Sheet& sheet) {
  const auto checked = [](const DataSource& source) { return source.checked; };
  if (std::all_of(sheet.sources.begin(), sheet.sources.end(), checked)) return "yes";
  return std::any_of(sheet.sources.begin(), sheet.sources.end(), checked) ? "in part" : "no";
}

template <class T>
std::string size_text(const Fact<T>& fact) {
  if (fact.is_unknown()) return "unknown";
  return fact.is_none() ? "none" : to_text(fact.value());
}

std::string count_text(const Fact<int>& fact) {
  if (fact.is_unknown()) return "unknown";
  return fact.is_none() ? "none" : fmt::to_string(fact.value());
}

void print_framework(const FrameworkProfile& profile) {
  fmt::print("{}: {} {}\n", profile.id, profile.name, profile.versions);
  fmt::print(
      "  gradients {}, in a node by {}, between nodes by {}, schedule {}, servers by {}, called "
      "by {}, updated on {}\n",
      to_text(profile.gradients), to_text(profile.in_node), to_text(profile.between_nodes),
      to_text(profile.schedule), to_text(profile.sharding), to_text(profile.callers),
      to_text(profile.update_on));
  fmt::print("  buckets {}, the first {}; number of packed messages {}; fusion {}, cycle {}\n",
             size_text(profile.bucket), size_text(profile.first_bucket), count_text(profile.groups),
             size_text(profile.fusion_threshold), size_text(profile.fusion_cycle));
  fmt::print(
      "  parts {}, under way {}; negotiation {}; kernels launched: {}; batches copied from memory: "
      "{}\n",
      size_text(profile.partition), size_text(profile.credit), to_text(profile.negotiation),
      to_text(profile.launch), to_text(profile.input_copy));
  for (const DataSource& source : profile.sources) {
    fmt::print("  {}{}\n", source.title, source.checked ? "" : " (not checked)");
  }
  for (const ComputeRow& row : profile.compute) fmt::print("  computing: {}\n", row.source);
}

void print_devices() {
  fmt::print("{:<22} {:>4} {:>9} {:>10}", "device", "year", "memory", "GB/s");
  for (const SheetFormat format : all_sheet_formats) {
    fmt::print(" {:>7}", sheet_format_name(format));
  }
  fmt::print(" {:>11} {:>8}\n", "NVLink GB/s", "checked");
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  for (const DeviceSheet& sheet : catalogue.sheets()) {
    fmt::print("{:<22} {:>4} {:>6.4g} GB {:>10.4g}", sheet.id, sheet.launched,
               sheet.memory.si() * 1e-9, sheet.memory_bandwidth.si() * 1e-9);
    for (const SheetFormat format : all_sheet_formats) {
      fmt::print(" {:>7}", peak_text(sheet, format));
    }
    fmt::print(" {:>11} {:>8}\n",
               sheet.nvlink ? fmt::format("{:.4g}", sheet.nvlink->bandwidth.si() * 1e-9) : "–",
               checked_text(sheet));
  }
  fmt::print(
      "Peaks in TFLOP/s: f64 and f32 of plain cores, the others of tensor cores with sums in f32; "
      "of dense matrices. NVLink in one direction.\n");
}

void print_links() {
  for (const LinkKind& kind : load_link_kinds()) {
    std::vector<std::string> rates;
    for (const LinkRate& rate : kind.rates) {
      rates.push_back(kind.reach == LinkReach::intra_node
                          ? to_text(rate.bandwidth)
                          : fmt::format("{} {}", rate.name, to_text(rate.bandwidth)));
    }
    fmt::print("{:<16} {}, {}: {}\n", kind.name, link_reach_name(kind.reach),
               link_transport_name(kind.transport), fmt::join(rates, ", "));
    for (const LinkFraming& framing : kind.framings) {
      fmt::print("  {}: at most {:.1f} % of it are payload\n", framing.name,
                 100 * framing.efficiency());
    }
    if (kind.latency) {
      fmt::print("  {} to {}: {}\n", to_text(kind.latency->low), to_text(kind.latency->high),
                 kind.latency->of);
    }
    fmt::print("  checked: {}\n", checked_text(kind));
  }
}

void print_frameworks() {
  for (const FrameworkProfile& profile : load_frameworks()) print_framework(profile);
}

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

/// One name a line, for scripts.
void print_names(const char* group) {
  for (const std::string& name : config_names(group)) fmt::print("{}\n", name);
}

struct InfoOptions {
  bool networks = false;
  bool clusters = false;
  bool devices = false;
  bool links = false;
  bool frameworks = false;
  bool quiet = false;
};

/// Prints the requested tables; false if none was requested.
bool print_sheets(const InfoOptions& options) {
  if (options.networks) print_names("networks");
  if (options.clusters) print_names("clusters");
  if (options.devices) print_devices();
  if (options.links) print_links();
  if (options.frameworks) print_frameworks();
  return options.networks || options.clusters || options.devices || options.links ||
         options.frameworks;
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
  for (const char* group :
       {"networks", "clusters", "suites", "devices", "links", "frameworks", "systems"}) {
    fmt::print("{}\n  {}\n", group, fmt::join(config_names(group), "  "));
  }
  print_next(steps_of_build(), options.quiet);
  return ExitCode::ok;
}

void declare_info(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<InfoOptions>();
  verb.add_flag("--networks", options->networks, "The names of networks in configs/networks, only");
  verb.add_flag("--clusters", options->clusters, "The names of clusters in configs/clusters, only");
  verb.add_flag("--devices", options->devices, "The data sheets of GPUs in configs/devices, only");
  verb.add_flag("--links", options->links, "The kinds of links in configs/links, only");
  verb.add_flag("--frameworks", options->frameworks,
                "What is known of frameworks, in configs/frameworks, only");
  declare_quiet(verb, options->quiet);
  verb.footer("Example: dlscale info\n         dlscale info --devices");
  verb.callback([options, &result] { result = info(*options); });
}

}  // namespace

extern const Verb info_verb{"info", "Say what this build holds, what it lacks and why",
                            declare_info};

}  // namespace dlscale::app
