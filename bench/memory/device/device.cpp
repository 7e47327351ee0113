#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "backend/compute/compute.hpp"
#include "bench/memory/axes.hpp"
#include "bench/memory/device/device_cells.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

constexpr int most_bank_stride = 64;

/// The probes of a backend of this build. Throws Unsupported if it has none.
std::unique_ptr<backend::DeviceProbes> open_probes(const std::string& name, int gpu) {
  const backend::ComputeBackend* found = family<backend::ComputeBackend>().find(name);
  if (found == nullptr || found->open_probes == nullptr) {
    static_cast<void>(open_device(name, 1, gpu));  // throws if the backend is missing
    throw Unsupported(
        fmt::format("backend {} computes in the memory of the host, so it has no device to probe. "
                    "Use the benchmark memory for it, or choose another with {}.",
                    name, option_name("backend")));
  }
  return found->open_probes({.threads = 1, .place = gpu});
}

template <class Parse>
auto parsed(const Context& context, std::string_view axis, Parse parse) {
  std::vector<decltype(parse(std::string_view()))> all;
  for (const std::string& text : context.list(axis)) all.push_back(parse(text));
  return all;
}

std::vector<int> bank_strides(const Context& context) {
  std::vector<int> strides = context.integers("bank_strides");
  for (const int stride : strides) {
    if (stride <= most_bank_stride) continue;
    throw ConfigError(
        fmt::format("{} names {} (32 threads that far apart need more than the probe's shared "
                    "memory). Choose 1 to {}.",
                    option_name("bank_strides"), stride, most_bank_stride));
  }
  return strides;
}

/// Checks host memory: source and target of a copy and of one the other way must fit, for all ranks
/// of a node.
void expect_host_room(const DeviceSelection& selection, const backend::Communicator& communicator) {
  const bool copies = std::any_of(
      selection.operations.begin(), selection.operations.end(),
      [](const std::string& operation) { return operation == "h2d" || operation == "d2h"; });
  if (!copies) return;
  const auto largest = std::max_element(selection.copy_bytes.begin(), selection.copy_bytes.end());
  const auto bytes = static_cast<double>(*largest);
  expect_room(fmt::format("{} has copies of {}", option_name("copy_sizes"), to_text(Bytes(bytes))),
              4 * bytes, communicator);
}

DeviceSelection selection_of(const Context& context, const backend::ProbedDevice& device) {
  const std::size_t beyond = beyond_caches(device.last_level_cache);
  return {.operations = context.list("operations"),
          .array_bytes = sizes_of(context, "sizes", {.unit = 64, .beyond = beyond}),
          .chase_bytes = sizes_of(context, "chase_sizes", {.unit = 64, .beyond = beyond}),
          .strides = sizes_of(context, "strides", {.unit = 4, .beyond = beyond}),
          .paths = parsed(context, "paths", parse_path),
          .bank_strides = bank_strides(context),
          .kernels = context.integers("kernels"),
          .copy_bytes = sizes_of(context, "copy_sizes", {.unit = 1, .beyond = beyond}),
          .memories = parsed(context, "host_memory", parse_memory),
          .concurrent_works = parsed(context, "concurrent_with", parse_concurrent_work)};
}

void refuse_idle_axes(const Context& context) {
  const std::vector<std::string_view> passes{"copy", "scale", "add", "triad"};
  const std::vector<std::string_view> banks{"bank_latency", "bank_throughput"};
  const std::vector<std::string_view> launches{"launch", "launch_synchronised", "launch_graph"};
  refuse_axes_without_effect(context, {{"sizes", passes},
                                       {"chase_sizes", {"chase"}},
                                       {"strides", {"chase", "levels"}},
                                       {"paths", {"chase", "levels"}},
                                       {"bank_strides", banks},
                                       {"kernels", launches},
                                       {"copy_sizes", {"h2d", "d2h", "d2d"}},
                                       {"host_memory", {"h2d", "d2h"}},
                                       {"concurrent_with", {"h2d", "d2h", "d2d"}}});
}

std::vector<Cell> make_cells(Context& context) {
  refuse_idle_axes(context);
  const backend::Communicator& communicator = *context.communicator;
  const std::string& name = context.value("backend");
  auto probe_context = std::make_shared<ProbeContext>();
  probe_context->probes = open_probes(name, communicator.gpu());
  probe_context->witness = open_witness(probe_context->probes->device().bus_id);
  const DeviceSelection selection = selection_of(context, probe_context->probes->device());
  expect_host_room(selection, communicator);
  return device_cells(probe_context, name, selection, communicator);
}

}  // namespace

extern const Benchmark device;
const Benchmark device{
    .name = "device",
    .doc = "Memory of a GPU, what a launch costs, and copies between host and device.",
    .axes =
        {{"operations",
          "copy, scale, add, triad: passes over arrays; chase: latency of memory; levels: those of "
          "the caches; bank_latency, bank_throughput: shared memory; launch, launch_synchronised, "
          "launch_graph: of empty kernels; h2d, d2h, d2d: copies",
          "copy,scale,add,triad,chase,levels,bank_latency,bank_throughput,launch,"
          "launch_synchronised,launch_graph,h2d,d2h,d2d"},
         {"sizes",
          "copy, scale, add, triad: bytes of each array; beyond_caches: four times the last-level "
          "cache; sweep: 4 KiB to that by doublings",
          "256 KiB,4 MiB,16 MiB,beyond_caches"},
         {"chase_sizes", "chase: bytes of the working set",
          "16 KiB,128 KiB,1 MiB,16 MiB,beyond_caches,1 GiB"},
         {"strides", "chase, levels: bytes between two addresses", "128 B"},
         {"paths",
          "chase, levels: caches on the way: all_caches, or l2 (past those of a processor)",
          "all_caches,l2"},
         advanced("bank_strides",
                  "bank_latency, bank_throughput: words between neighbouring threads",
                  "1,2,3,4,8,16,32,33"),
         advanced("kernels", "launch, launch_synchronised, launch_graph: kernels at once",
                  "1,10,100,500"),
         {"copy_sizes", "h2d, d2h, d2d: bytes", "4 B,4 KiB,64 KiB,1 MiB,16 MiB,256 MiB"},
         {"host_memory", "h2d, d2h: pageable, pinned, registered", "pageable,pinned,registered"},
         {"concurrent_with",
          "h2d, d2h, d2d: what runs beside a copy: none, copy (the other way), kernel (which "
          "computes)",
          "none,copy,kernel"},
         {"backend", "compute backend whose device is probed", "cuda"}},
    .cells = make_cells};

}  // namespace dlscale::bench
