#include "bench/memory/device/device_cells.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <utility>

#include "bench/engine/benchmark.hpp"
#include "bench/memory/axes.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using backend::ArrayPass;
using backend::BankLoad;
using backend::DeviceProbes;
using backend::Direction;
using backend::LaunchMethod;
using Axes = std::map<std::string, std::string>;
using backend::ChasePath;
using backend::ConcurrentWork;
using backend::HostMemory;

/// Collects cells with their common axes.
class Cells {
 public:
  Cells(std::shared_ptr<ProbeContext> probe_context, Axes common)
      : probe_context_(std::move(probe_context)), common_(std::move(common)) {}

  void probe(Axes axes, std::optional<Work> work, MakeProbe make) {
    add(std::move(axes),
        [make = std::move(make), work](ProbeContext& probe_context, const Sampler& sampler) {
          return measure_probe(probe_context, make, work, sampler);
        });
  }
  void add(Axes axes, std::function<Measurement(ProbeContext&, const Sampler&)> measure) {
    axes.insert(common_.begin(), common_.end());
    cells_.push_back({std::move(axes),
                      [probe_context = probe_context_, measure = std::move(measure)](
                          const Sampler& sampler) { return measure(*probe_context, sampler); }});
  }

  /// Throws ConfigError if `bytes` in total exceed the free device memory.
  void expect_room(std::string_view option, double bytes) const {
    const Bytes free = probe_context_->probes->device().memory;
    if (bytes <= 0.9 * free.si()) return;
    throw ConfigError(
        fmt::format("{} asks for {} of the device's memory, of which {} are free. Give smaller "
                    "sizes, or stop what else uses the device.",
                    option, to_text(Bytes(bytes)), to_text(free)));
  }

  [[nodiscard]] std::vector<Cell> take() { return std::move(cells_); }

 private:
  std::shared_ptr<ProbeContext> probe_context_;
  Axes common_;
  std::vector<Cell> cells_;
};

Work bytes_moved(double bytes) {
  return {Flops(0), Bytes(bytes)};
}

/// Adds the cells of an operation.
using AddCells = void (*)(Cells&, const std::string& operation, const DeviceSelection& selection);

template <ArrayPass pass>
void add_arrays(Cells& cells, const std::string& operation, const DeviceSelection& selection) {
  constexpr int arrays = pass == ArrayPass::add || pass == ArrayPass::triad ? 3 : 2;
  constexpr int flops = pass == ArrayPass::copy ? 0 : (pass == ArrayPass::triad ? 2 : 1);
  for (const std::size_t bytes : selection.array_bytes) {
    const auto size = static_cast<double>(bytes);
    cells.expect_room(option_name("sizes"), arrays * size);
    cells.probe(
        {{"operation", operation}, {"bytes", std::to_string(bytes)}},
        Work{Flops(flops * size / sizeof(double)), Bytes(arrays * size)},
        [bytes](DeviceProbes& probes) { return probes.arrays({.pass = pass, .bytes = bytes}); });
  }
}

Axes axes_of_walk(const std::string& operation, std::size_t stride, backend::ChasePath path) {
  return {{"operation", operation},
          {"stride", std::to_string(stride)},
          {"path", std::string(path_name(path))}};
}

void add_chases(Cells& cells, const std::string& operation, const DeviceSelection& selection) {
  for (const auto& [bytes, stride, path] :
       combinations(selection.chase_bytes, selection.strides, selection.paths)) {
    cells.expect_room(option_name("chase_sizes"), static_cast<double>(bytes));
    const backend::ChaseSpec spec{.bytes = bytes, .stride = stride, .path = path};
    Axes axes = axes_of_walk(operation, stride, path);
    axes["bytes"] = std::to_string(bytes);
    cells.probe(std::move(axes), {}, [spec](DeviceProbes& probes) { return probes.chase(spec); });
  }
}

void add_levels(Cells& cells, const std::string& operation, const DeviceSelection& selection) {
  for (const auto& [stride, path] : combinations(selection.strides, selection.paths)) {
    cells.add(axes_of_walk(operation, stride, path),
              [stride = stride, path = path](ProbeContext& probe_context, const Sampler& sampler) {
                return measure_levels(probe_context, stride, path, sampler);
              });
  }
}

template <BankLoad load>
void add_banks(Cells& cells, const std::string& operation, const DeviceSelection& selection) {
  constexpr double bytes = 32 * 4;  // one word per thread of a warp
  for (const int stride : selection.bank_strides) {
    cells.probe(
        {{"operation", operation}, {"stride", std::to_string(4 * stride)}}, bytes_moved(bytes),
        [stride](DeviceProbes& probes) { return probes.banks({.load = load, .stride = stride}); });
  }
}

template <LaunchMethod method>
void add_launches(Cells& cells, const std::string& operation, const DeviceSelection& selection) {
  for (const int kernels : selection.kernels) {
    cells.probe({{"operation", operation}, {"kernels", std::to_string(kernels)}}, {},
                [kernels](DeviceProbes& probes) {
                  return probes.launches({.method = method, .kernels = kernels});
                });
  }
}

void add_copy(Cells& cells, const std::string& operation, const backend::CopySpec& spec) {
  const bool within = spec.direction == Direction::within_device;
  const auto size = static_cast<double>(spec.bytes);
  cells.expect_room(option_name("copy_sizes"), 2 * size);
  Axes axes{{"operation", operation},
            {"bytes", std::to_string(spec.bytes)},
            {"concurrent_with", std::string(concurrent_work_name(spec.concurrent))}};
  if (!within) axes["host_memory"] = memory_name(spec.memory);
  cells.probe(std::move(axes), bytes_moved(within ? 2 * size : size),
              [spec](DeviceProbes& probes) { return probes.copies(spec); });
}

template <Direction direction>
void add_copies(Cells& cells, const std::string& operation, const DeviceSelection& selection) {
  using Memories = std::vector<backend::HostMemory>;
  const Memories memories = direction == Direction::within_device
                                ? Memories{backend::HostMemory::pinned}
                                : selection.memories;
  for (const auto& [bytes, memory, concurrent] :
       combinations(selection.copy_bytes, memories, selection.concurrent_works)) {
    add_copy(cells, operation,
             {.direction = direction, .bytes = bytes, .memory = memory, .concurrent = concurrent});
  }
}

constexpr std::array operations{
    Named<AddCells>{"copy", add_arrays<ArrayPass::copy>},
    Named<AddCells>{"scale", add_arrays<ArrayPass::scale>},
    Named<AddCells>{"add", add_arrays<ArrayPass::add>},
    Named<AddCells>{"triad", add_arrays<ArrayPass::triad>},
    Named<AddCells>{"chase", add_chases},
    Named<AddCells>{"levels", add_levels},
    Named<AddCells>{"bank_latency", add_banks<BankLoad::latency>},
    Named<AddCells>{"bank_throughput", add_banks<BankLoad::throughput>},
    Named<AddCells>{"launch", add_launches<LaunchMethod::back_to_back>},
    Named<AddCells>{"launch_synchronised", add_launches<LaunchMethod::synchronised>},
    Named<AddCells>{"launch_graph", add_launches<LaunchMethod::graph>},
    Named<AddCells>{"h2d", add_copies<Direction::host_to_device>},
    Named<AddCells>{"d2h", add_copies<Direction::device_to_host>},
    Named<AddCells>{"d2d", add_copies<Direction::within_device>}};

constexpr std::array paths{Named<ChasePath>{"all_caches", ChasePath::all_caches},
                           Named<ChasePath>{"l2", ChasePath::shared_l2}};
constexpr std::array memories{Named<HostMemory>{"pageable", HostMemory::pageable},
                              Named<HostMemory>{"pinned", HostMemory::pinned},
                              Named<HostMemory>{"registered", HostMemory::registered}};
constexpr std::array concurrent_works{Named<ConcurrentWork>{"none", ConcurrentWork::none},
                                      Named<ConcurrentWork>{"copy", ConcurrentWork::copy},
                                      Named<ConcurrentWork>{"kernel", ConcurrentWork::kernel}};

}  // namespace

std::vector<Cell> device_cells(const std::shared_ptr<ProbeContext>& probe_context,
                               std::string_view backend, const DeviceSelection& selection,
                               const backend::Communicator& communicator) {
  Cells cells(probe_context, {{"backend", std::string(backend)},
                              {"ranks", std::to_string(communicator.size())},
                              {"ranks_on_node", std::to_string(communicator.node_size())}});
  for (const std::string& operation : selection.operations) {
    const AddCells add = value_of<AddCells>(operation, operations, "operations");
    add(cells, operation, selection);
  }
  return cells.take();
}

std::string_view path_name(ChasePath path) {
  return name_of<ChasePath>(path, paths);
}
std::string_view memory_name(HostMemory memory) {
  return name_of<HostMemory>(memory, memories);
}
std::string_view concurrent_work_name(ConcurrentWork concurrent) {
  return name_of<ConcurrentWork>(concurrent, concurrent_works);
}

ChasePath parse_path(std::string_view name) {
  return value_of<ChasePath>(name, paths, "paths");
}
HostMemory parse_memory(std::string_view name) {
  return value_of<HostMemory>(name, memories, "host_memory");
}
ConcurrentWork parse_concurrent_work(std::string_view name) {
  return value_of<ConcurrentWork>(name, concurrent_works, "concurrent_with");
}

}  // namespace dlscale::bench
