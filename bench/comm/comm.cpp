#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/compute/compute.hpp"
#include "backend/host/host.hpp"
#include "bench/comm/choices.hpp"
#include "bench/comm/overlap/measure_overlap.hpp"
#include "bench/comm/overlap/overlap_work.hpp"
#include "bench/comm/traffic/measure.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/cache.hpp"
#include "bench/quiet/device_watch.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "core/system/this_command_line.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;

Measurement nothing_to_send(const std::string& collective) {
  return unsupported(
      Unsupported(fmt::format("{} among 1 rank moves nothing. Start several ranks: mpirun -n 2 {}",
                              collective, fmt::join(this_command_line(), " "))));
}

/// Size of the rotated buffers, and warnings about it.
struct Rotation {
  Bytes size;
  Words warnings;
  RotatingBuffers::Filled filled = RotatingBuffers::Filled::every_turn;
};

using Rotations = std::map<std::string, Rotation>;  ///< by the value of "cache"

Rotations rotations(Bytes last_level) {
  return {{"", {}},  // for cells without messages
          {"hot", {}},
          {"reused", {{}, {}, RotatingBuffers::Filled::once}},
          {"cold", {flush_size(last_level), unknown_size_warnings(last_level)}}};
}

/// A memory for messages.
struct Place {
  std::shared_ptr<backend::ComputeDevice> device;  ///< null: host memory
  std::optional<DeviceWitness> witness;            ///< for the device
  Rotations rotations;
};

/// Parts of the host and ranks that all cells share.
struct CommContext {
  Communicator* ranks;
  Words warnings;
  std::map<std::string, Place> places;  ///< by the value of "memory"; "" for cells without messages
  std::shared_ptr<Workbench> workbench;  ///< for overlapping work, else null
};

/// Warns at once, not only in rows, if there are more threads than a rank has cores.
void warn_of_threads(const Communicator& ranks, int threads) {
  if (ranks.rank() != 0 || static_cast<std::size_t>(threads) <= backend::usable_cores().size()) {
    return;
  }
  for (const std::string& warning : backend::host_warnings(threads, ranks.node_size())) {
    fmt::print(stderr, "dlscale: {}\n", warning);
  }
}

/// Throws ConfigError for a device with its own memory, as overlapped messages are in host memory.
std::shared_ptr<Workbench> open_workbench(const Context& context) {
  const std::string& name = context.value("backend");
  const int threads = context.integer("threads");
  if (find_backend(name).has_own_memory()) {
    throw ConfigError(fmt::format(
        "{} {} computes in memory of a device, beside which messages of the host's memory say "
        "little about training there. Use a backend of the processor with {}.",
        option_name("backend"), name, option_name("beside")));
  }
  auto workbench =
      std::make_shared<Workbench>(open_device(name, threads, context.communicator->gpu()),
                                  open_device("reference", 1), threads);
  warn_of_threads(*context.communicator, threads);
  return workbench;
}

CommContext probe_context(const Context& context, const Choices& chosen) {
  Communicator& ranks = *context.communicator;
  CommContext around{.ranks = &ranks,
                     .warnings = backend::host_warnings(1, ranks.node_size()),
                     .places = {},
                     .workbench = computes(chosen) ? open_workbench(context) : nullptr};
  const Place host{nullptr, {}, rotations(backend::last_level_cache())};
  around.places = {{"", host}, {"host", host}};
  if (lie_on_device(chosen)) {
    std::shared_ptr<backend::ComputeDevice> device =
        open_device(context.value("backend"), 1, ranks.gpu());
    const Bytes last_level = device->own_memory().value().last_level_cache;
    auto witness = witness_of(*device);
    around.places[std::string(device_memory)] = {std::move(device), std::move(witness),
                                                 rotations(last_level)};
  }
  return around;
}

/// Axes that all cells share whose messages are in that memory.
std::map<std::string, std::string> common_axes(const Communicator& ranks,
                                               const std::string& memory = "host") {
  const bool on_device = memory == device_memory;
  std::map<std::string, std::string> axes{
      {"ranks", std::to_string(ranks.size())},
      {"ranks_on_node", std::to_string(ranks.node_size())},
      {"library", on_device ? device_library(ranks) : ranks.host_library()}};
  // Rows without this axis have messages in host memory, as in all earlier versions.
  if (on_device) axes[std::string(memory_axis)] = device_memory;
  return axes;
}

Message message_of(const std::map<std::string, std::string>& axes) {
  const auto value = [&](const std::string& axis) {
    const auto found = axes.find(axis);
    return found == axes.end() ? std::string() : found->second;
  };
  Message message;
  message.collective = value("collective");
  if (axes.contains("bytes")) message.bytes = std::stoull(value("bytes"));
  if (axes.contains("dtype")) message.type = named(backend::element_types, value("dtype"));
  if (axes.contains("op")) message.op = named(backend::reductions, value("op"));
  if (axes.contains("mode")) message.mode = named(backend::modes, value("mode"));
  if (value("in_place") == "no") message.placement = Placement::out_of_place;
  if (axes.contains("algorithm")) message.algorithm = value("algorithm");
  if (axes.contains("segments")) message.segments = std::stoi(value("segments"));
  if (axes.contains("servers")) message.servers = std::stoi(value("servers"));
  return message;
}

/// The overlapping work that the axes describe; they must name some.
OverlapSetup overlap_setup(const std::map<std::string, std::string>& axes,
                           const std::shared_ptr<Workbench>& workbench) {
  const std::string& name = axes.at("beside");
  return {.make_work = [name, workbench] { return make_overlap_work(name, workbench); },
          .ratio = std::stod(axes.at("beside_work")),
          .threads = needs_backend(name) ? workbench->threads() : 1};
}

Cell make_cell(std::map<std::string, std::string> axes, const Place& place,
               const CommContext& around) {
  const Rotation& rotation = place.rotations.at(axes.at("cache"));
  std::erase_if(axes, [](const auto& axis) { return axis.second.empty(); });
  const Message message = message_of(axes);
  if (sends_windows(message.collective)) axes["window"] = std::to_string(window(message.bytes));
  MessageConditions conditions{.waiting = axes.at("waiting") == "spin" ? backend::WaitPolicy::spin
                                                                       : backend::WaitPolicy::sleep,
                               .rotation = rotation.size,
                               .filled = rotation.filled,
                               .warnings = around.warnings,
                               .device = place.device,
                               .witness = place.witness};
  conditions.warnings.insert(conditions.warnings.end(), rotation.warnings.begin(),
                             rotation.warnings.end());
  Cell cell;
  if (axes.contains("beside")) {
    cell.measure = [message, conditions = std::move(conditions),
                    beside = overlap_setup(axes, around.workbench)](const Sampler& sampler) {
      return measure_overlap(message, conditions, beside, sampler);
    };
  } else {
    cell.measure = [message, conditions = std::move(conditions)](const Sampler& sampler) {
      return measure_traffic(message, conditions, sampler);
    };
  }
  cell.axes = std::move(axes);
  return cell;
}

Cell make_empty_cell(const Communicator& alone, const std::string& collective,
                     const std::string& memory) {
  Cell cell;
  cell.axes = common_axes(alone, memory);
  cell.axes["collective"] = collective;
  cell.measure = [collective](const Sampler&) { return nothing_to_send(collective); };
  return cell;
}

void add_cells(std::vector<Cell>& cells, const CommContext& around, const Choices& chosen,
               const std::string& collective, const std::string& dtype,
               const std::string& algorithm, const std::string& memory) {
  const Communicator& ranks = *around.ranks;
  const Words parts = reads_segments(collective, algorithm) ? chosen.segments : Words{""};
  const Words shards = reads_servers(collective, algorithm) ? chosen.servers : Words{""};
  for (const auto& [bytes, op, mode, placement, segments, servers, waiting, cache, beside] :
       combinations(
           sizes_for(collective, chosen, dtype, ranks.size()),
           values_for("op", collective, chosen.ops), values_for("mode", collective, chosen.modes),
           placements_for(collective, chosen), parts, shards, chosen.waitings,
           values_for("cache", collective, chosen.caches), besides_for(collective, chosen))) {
    auto axes = common_axes(ranks, memory);
    axes["collective"] = collective;
    axes["bytes"] = bytes == 0 ? std::string() : std::to_string(bytes);
    axes["dtype"] = dtype;
    axes["op"] = op;
    axes["mode"] = mode;
    axes["in_place"] = placement;
    axes["algorithm"] = algorithm;
    axes["segments"] = segments;
    axes["servers"] = servers;
    axes["waiting"] = waiting;
    axes["cache"] = cache;
    axes["beside"] = beside.work;
    axes["beside_work"] = beside.ratio;
    if (!beside.work.empty() && needs_backend(beside.work)) {
      axes["backend"] = around.workbench->device().name();
      axes["threads"] = std::to_string(around.workbench->threads());
    }
    cells.push_back(make_cell(std::move(axes), around.places.at(memory), around));
  }
}

std::vector<Cell> make_cells(Context& context) {
  const Choices chosen = read_choices(context);
  const CommContext around = probe_context(context, chosen);
  const int ranks = around.ranks->size();
  std::vector<Cell> cells;
  for (const std::string& collective : chosen.collectives) {
    for (const std::string& dtype : values_for("dtype", collective, chosen.dtypes)) {
      // Invalid sizes are refused for a single rank, too.
      static_cast<void>(sizes_for(collective, chosen, dtype, ranks));
      if (ranks == 1) continue;
      for (const auto& [algorithm, memory] :
           combinations(algorithms_for(collective, chosen.algorithms),
                        values_for("memory", collective, chosen.memories))) {
        add_cells(cells, around, chosen, collective, dtype, algorithm, memory);
      }
    }
    if (ranks > 1) continue;
    for (const std::string& memory : values_for("memory", collective, chosen.memories)) {
      cells.push_back(make_empty_cell(*around.ranks, collective, memory));
    }
  }
  return cells;
}

}  // namespace

extern const Benchmark comm{
    .name = "comm",
    .doc = "collectives, and messages between two ranks, alone or beside other work",
    .axes =
        {
            {"collectives",
             "collectives: all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, "
             "barrier; between rank 0 and the last: sendrecv (half a ping-pong), bandwidth (many "
             "messages at once), bidirectional (both ways); pairs: sendrecv between every two",
             "all_reduce"},
            {"sizes",
             "sizes such as 64KiB, or powers (4 B to 64 MiB), large (128 MiB to 1 GiB), neighbours "
             "(one element more or less than a power), gradients (the messages of networks)",
             "powers,neighbours,gradients"},
            advanced("networks", "networks whose gradients are sent", "alexnet,googlenet,resnet50"),
            {"dtype", "type of the elements: f32, f64, bf16, f16, i32, i64, u8", "f32"},
            advanced("op", "operation of the collectives that reduce: sum, max, min", "sum"),
            advanced("mode",
                     "how a collective is called: blocking, nonblocking (started and waited for) "
                     "or persistent (prepared before)",
                     "blocking"),
            {"algorithm",
             "algorithm of a collective: library (what the library does), one that dlscale info "
             "lists, over the library's messages, or all",
             "library"},
            advanced("segments",
                     "parts in which a pipelined algorithm sends a message, up to 65536; at least "
                     "an element is in each",
                     "8"),
            advanced("servers", "parameter servers that share a message, or all: one on each rank",
                     "1"),
            advanced("in_place",
                     "yes: the result of a collective replaces what was given; no. Unless named, "
                     "no for all_gather, reduce_scatter and all_to_all, as training sends them",
                     "yes"),
            {"waiting",
             "barrier before a sample: spin (ranks start together) or sleep (as in training, where "
             "a rank that wakes late keeps the others waiting)",
             "spin"},
            advanced("cache",
                     "cold: buffers in turn that fill twice the last cache, 64 MiB at least; hot: "
                     "one buffer, written before each sample; reused: one, as the sample before "
                     "left it",
                     "cold"),
            {"memory",
             "memory of the messages: host, or device, where gradients of the backend lie "
             "(default: device if the backend has memory of its own)",
             "host"},
            {"beside",
             "work of each rank during a collective: nothing, gemm (small products), conv (a small "
             "convolution), memcpy (larger than the caches)",
             "nothing"},
            advanced("beside_work", "time of that work, as a multiple of the messages' time", "1"),
            {"backend", "compute backend of that work, or of the device that has the messages",
             "onednn"},
            {"threads", "compute threads per rank of that work", "1"},
        },
    .cells = make_cells,
    .settle = settle_memory,
    .rows = Benchmark::Rows::messages,
};

}  // namespace dlscale::bench
