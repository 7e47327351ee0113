#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "backend/host/host.hpp"
#include "bench/benchmark.hpp"
#include "bench/memory/input_copy.hpp"
#include "bench/memory/stream.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"

namespace dlscale::bench {
namespace {

constexpr std::string_view beyond_caches = "beyond_caches";

/// STREAM's rule: an array of four times the last-level cache does not live in it.
/// [McCalpin, STREAM run rules]
std::size_t size_beyond_caches() {
  const Bytes cache = backend::last_level_cache();
  if (cache > Bytes(0)) return static_cast<std::size_t>(4 * cache.si());
  throw ConfigError(
      "--sizes has \"beyond_caches\", but the system does not tell the size of the last-level "
      "cache "
      "here. Write four times its size, such as 128 MiB.");
}

std::size_t parse_size(const std::string& text) {
  if (text == beyond_caches) return size_beyond_caches();
  const double bytes = parse_quantity<Bytes>(text, "--sizes").si();
  if (bytes >= 64 && bytes == std::floor(bytes / 64) * 64) return static_cast<std::size_t>(bytes);
  throw ConfigError(
      fmt::format("--sizes names {} (arrays are whole cache lines of 64 bytes). Write a positive "
                  "multiple of 64 bytes, such as 256 KiB, or beyond_caches.",
                  text));
}

/// The arrays of all ranks of a node must fit in its memory, or swapping would be measured.
void check_memory(std::size_t array_bytes, const backend::Communicator& communicator) {
  const double all = 3.0 * static_cast<double>(array_bytes) * communicator.node_size();
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (all <= 0.5 * memory) return;
  throw ConfigError(fmt::format(
      "--sizes has arrays of {}, and three for each of {} rank(s) are more than half of the {} of "
      "memory of this node. Give smaller ones.",
      to_text(Bytes(static_cast<double>(array_bytes))), communicator.node_size(),
      to_text(Bytes(memory))));
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

void add_stream_cells(const Context& context, const std::string& name, int threads,
                      std::vector<Cell>& cells) {
  const StreamOperation& operation = find_stream_operation(name);
  std::set<std::size_t> sizes;
  for (const std::string& text : context.list("sizes")) sizes.insert(parse_size(text));
  for (const std::size_t bytes : sizes) {
    check_memory(bytes, *context.communicator);
    cells.push_back({common_axes(context, name, bytes, threads),
                     [&operation, bytes, threads](const Sampler& sampler) {
                       return measure_stream(operation, bytes, threads, sampler);
                     }});
  }
}

/// One batch of each size: networks with the same input copy the same.
std::map<std::size_t, InputBatch> input_batches(const Context& context) {
  const DType dtype = parse_dtype(context.value("dtype"));
  std::map<std::size_t, InputBatch> by_size;
  for (const std::string& name : context.list("networks")) {
    const ImageShape shape = load_network(name).input();
    for (const int batch : context.integers("batch")) {
      const InputBatch input{shape, batch, dtype};
      by_size.emplace(input.host_bytes(), input);
    }
  }
  return by_size;
}

void add_input_cells(const Context& context, int threads, std::vector<Cell>& cells) {
  const auto workbench = std::make_shared<Workbench>(
      open_device(context.value("backend"), threads, context.communicator->gpu()),
      open_device("reference", threads), threads);
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

std::vector<Cell> make_cells(Context& context) {
  std::vector<Cell> cells;
  for (const std::string& operation : context.list("operations")) {
    for (const int threads : context.integers("threads")) {
      if (operation == "h2d") {
        add_input_cells(context, threads, cells);
      } else {
        add_stream_cells(context, operation, threads, cells);
      }
    }
  }
  return cells;
}

}  // namespace

extern const Benchmark memory;
const Benchmark memory{
    .name = "memory",
    .doc = "Bandwidth of memory, and the copy of a batch to the device.",
    .axes = {{"operations", "copy, scale, add, triad, and h2d: a batch from host to device",
              "copy,scale,add,triad,h2d"},
             {"sizes",
              "bytes of each array of copy, scale, add and triad; beyond_caches: four times the "
              "last-level cache",
              "32 KiB,512 KiB,8 MiB,beyond_caches"},
             {"networks", "h2d: networks whose input is copied", "alexnet,googlenet,resnet50"},
             {"batch", "h2d: images per rank", "1,8,16,32"},
             {"dtype", "h2d: precision of the network's input", "f32"},
             {"backend", "h2d: compute backend", "onednn"},
             {"threads", "threads per rank", "1"}},
    .cells = make_cells};

}  // namespace dlscale::bench
