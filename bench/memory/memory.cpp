#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/axes.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "bench/memory/input_copy.hpp"
#include "bench/memory/stream_operations.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::Stores;

constexpr std::array stores_names{Named<Stores>{"ordinary", Stores::ordinary},
                                  Named<Stores>{"streaming", Stores::streaming}};

/// The array sizes; three arrays of each must fit in memory.
std::vector<std::size_t> stream_sizes(const Context& context) {
  const SizeRule rule{.unit = 64, .beyond = beyond_caches(backend::last_level_cache())};
  std::vector<std::size_t> sizes = sizes_of(context, "sizes", rule);
  const auto largest = static_cast<double>(sizes.back());
  expect_room(fmt::format("{} has arrays of {}", option_name("sizes"), to_text(Bytes(largest))),
              3 * largest, *context.communicator);
  return sizes;
}

using Axes = std::map<std::string, std::string>;

Axes common_axes(const Context& context, std::string_view operation, std::size_t bytes,
                 int threads) {
  return {{"operation", std::string(operation)},
          {"bytes", std::to_string(bytes)},
          {"threads", std::to_string(threads)},
          {"ranks", std::to_string(context.communicator->size())},
          {"ranks_on_node", std::to_string(context.communicator->node_size())}};
}

/// The instruction sets of the loops, each once, as "best" may equal a named one.
std::vector<std::string> instruction_sets(const Context& context) {
  std::vector<std::string> all;
  for (const std::string& isa : context.list("isa")) {
    check_isa(isa, {"compiled", "best"});
    const std::string meant = isa == "best" ? widest_instruction_set() : isa;
    if (std::find(all.begin(), all.end(), meant) == all.end()) all.push_back(meant);
  }
  return all;
}

/// The codes of the loops that the options select.
std::vector<StreamCode> stream_codes(const Context& context) {
  std::vector<StreamCode> codes;
  for (const std::string& isa : instruction_sets(context)) {
    for (const std::string& stores : context.list("stores")) {
      codes.push_back({isa, value_of<Stores>(stores, stores_names, "stores")});
    }
  }
  return codes;
}

Measurement measure_code(const std::string& operation, const StreamCode& code, std::size_t bytes,
                         int threads, const Sampler& sampler) {
  try {
    Measurement measurement =
        measure_stream(stream_operation(operation, code), bytes, threads, sampler);
    add_host_warnings(measurement, threads, sampler.communicator());
    return measurement;
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
}

void add_stream_cells(const Context& context, const std::string& name, int threads,
                      std::vector<Cell>& cells) {
  static_cast<void>(stream_operation(name));  // throws with a list of the operations
  for (const auto& [bytes, code] : combinations(stream_sizes(context), stream_codes(context))) {
    Axes axes = common_axes(context, name, bytes, threads);
    if (code.isa != "compiled" || code.stores != Stores::ordinary) {
      axes["isa"] = code.isa;
      axes["stores"] = name_of<Stores>(code.stores, stores_names);
    }
    cells.push_back(
        {std::move(axes), [name, code = code, bytes = bytes, threads](const Sampler& sampler) {
           return measure_code(name, code, bytes, threads, sampler);
         }});
  }
}

/// One batch of each size, as networks with the same input copy the same.
std::map<std::size_t, InputBatch> input_batches(const Context& context) {
  const DType dtype = parse_dtype(context.value("dtype"));
  std::map<std::size_t, InputBatch> by_size;
  for (const auto& [name, batch] :
       combinations(context.list("networks"), context.integers("batch"))) {
    const InputBatch input{load_network(name).input(), batch, dtype};
    by_size.emplace(input.host_bytes(), input);
  }
  return by_size;
}

void add_input_cells(const Context& context, int threads, std::vector<Cell>& cells) {
  const auto workbench = std::make_shared<Workbench>(
      open_device(context.value("backend"), threads, context.communicator->gpu()),
      open_device("reference", 1), threads);
  for (const auto& [bytes, input] : input_batches(context)) {
    Axes axes = common_axes(context, "h2d", bytes, threads);
    axes["backend"] = workbench->device().name();
    axes["dtype"] = dtype_name(input.dtype);
    const auto measure = [workbench, batch = input](const Sampler& sampler) {
      return measure_input_copy(*workbench, batch, sampler);
    };
    cells.push_back({std::move(axes), measure});
  }
}

std::vector<Cell> make_memory_cells(Context& context) {
  const std::vector<std::string_view> streams = stream_operation_names();
  refuse_axes_without_effect(context, {{"sizes", streams},
                                       {"isa", streams},
                                       {"stores", streams},
                                       {"networks", {"h2d"}},
                                       {"batch", {"h2d"}},
                                       {"dtype", {"h2d"}},
                                       {"backend", {"h2d"}}});
  std::vector<Cell> cells;
  for (const auto& [operation, threads] :
       combinations(context.list("operations"), context.integers("threads"))) {
    if (operation == "h2d") {
      add_input_cells(context, threads, cells);
    } else {
      add_stream_cells(context, operation, threads, cells);
    }
  }
  return cells;
}

}  // namespace

extern const Benchmark memory;
const Benchmark memory{
    .name = "memory",
    .doc = "Bandwidth of memory and caches, and the copy of a batch to the device.",
    .axes = {{"operations",
              "copy, scale, add, triad, as in STREAM; sum: reads only; fill: writes only; h2d: a "
              "batch from host to device",
              "copy,scale,add,triad,h2d"},
             {"sizes",
              "all but h2d: bytes of each array; beyond_caches: four times the last-level cache; "
              "sweep: 4 KiB to that by doublings",
              "8 KiB,16 KiB,32 KiB,128 KiB,512 KiB,8 MiB,beyond_caches"},
             {"isa",
              "all but h2d: loops as the compiler makes them (compiled), or written for an "
              "instruction set: avx2, avx512, ..., or the widest there is (best)",
              "compiled"},
             {"stores", "all but h2d, with --isa: ordinary, or streaming past the caches",
              "ordinary"},
             {"networks", "h2d: networks whose input is copied", "alexnet,googlenet,resnet50"},
             {"batch", "h2d: images per rank", "1,8,16,32"},
             {"dtype", "h2d: precision of the network's input", "f32"},
             {"backend", "h2d: compute backend", "onednn"},
             {"threads", "threads per rank", "1"}},
    .cells = make_memory_cells,
    .suites = Benchmark::Suites::none,
    .rows = Benchmark::Rows::any,
    .extra = Benchmark::Extra::offered};

}  // namespace dlscale::bench
