#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/host/host.hpp"
#include "bench/benchmark.hpp"
#include "bench/cache.hpp"
#include "bench/combinations.hpp"
#include "bench/comm/messages.hpp"
#include "bench/comm/rotating_buffers.hpp"
#include "bench/conv/finding.hpp"
#include "bench/timed.hpp"
#include "bench/together.hpp"
#include "bench/unsupported.hpp"
#include "core/error.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using backend::Waiting;

/// What one cell does.
struct Message {
  std::string collective;
  std::size_t elements = 0;
  Waiting waiting = Waiting::spin;
  Bytes rotation;  ///< of buffers in turn for a cold message; zero for a hot one
  std::vector<std::string> warnings;
};

/// What a rank found wrong in its result; plain bytes, for an all-gather.
struct Mismatch {
  std::int64_t wrong = 0;  ///< elements
  std::int64_t index = 0;  ///< of the first
  double value = 0;
  double expected = 0;
};

/// Small whole numbers, different on every rank: all sums are exact in f32 whatever their order.
float test_value(Rank rank, std::size_t index) {
  return static_cast<float>(static_cast<int>(index % 251) + rank);
}

template <class Expected>
Mismatch compare(std::span<const float> values, Expected expected) {
  Mismatch found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected(i)) continue;
    if (found.wrong++ == 0) found = {1, static_cast<std::int64_t>(i), values[i], expected(i)};
  }
  return found;
}

std::vector<float> test_message(Rank rank, std::size_t elements) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = test_value(rank, i);
  return values;
}

/// `values`: this rank's test_message().
Mismatch check_all_reduce(Communicator& ranks, std::span<float> values) {
  ranks.all_reduce(values, backend::Reduction::sum);
  const int size = ranks.size();
  const int of_ranks = size * (size - 1) / 2;
  return compare(values, [&](std::size_t i) {
    return static_cast<float>(size * static_cast<int>(i % 251) + of_ranks);
  });
}

constexpr int tag = 1;

/// From rank 0 to the last rank, which in a run over several nodes is on another one, and back.
void ping_pong(Communicator& ranks, std::span<float> values) {
  const Rank last = ranks.size() - 1;
  const auto bytes = std::as_writable_bytes(values);
  if (ranks.rank() == 0) {
    ranks.send(bytes, last, tag);
    ranks.receive(bytes, last, tag);
  } else if (ranks.rank() == last) {
    ranks.receive(bytes, 0, tag);
    ranks.send(bytes, 0, tag);
  }
}

Mismatch check_ping_pong(Communicator& ranks, std::span<float> values) {
  ping_pong(ranks, values);
  const bool holds_rank_0 = ranks.rank() == ranks.size() - 1;
  return compare(values,
                 [&](std::size_t i) { return test_value(holds_rank_0 ? 0 : ranks.rank(), i); });
}

/// What is wrong on any rank, in words, the same on all ranks; empty if nothing is.
std::string shared_verdict(Communicator& ranks, const Mismatch& mine) {
  std::vector<Mismatch> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  const auto wrong = [](const Mismatch& found) { return found.wrong > 0; };
  const auto first = std::find_if(all.begin(), all.end(), wrong);
  if (first == all.end()) return {};
  return fmt::format("wrong on {} of {} ranks; rank {}: {} elements, the first is [{}], {} for {}",
                     std::count_if(all.begin(), all.end(), wrong), all.size(), first - all.begin(),
                     first->wrong, first->index, first->value, first->expected);
}

Measurement take_samples(const Message& message, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  std::optional<RotatingBuffers> buffers;
  together(ranks, [&] { buffers.emplace(message.elements, message.rotation); });
  std::span<float> values;
  const auto once = [&] {
    if (message.collective == "all_reduce") {
      return timed([&] { ranks.all_reduce(values, backend::Reduction::sum); });
    }
    return timed([&] { ping_pong(ranks, values); }) / 2;
  };
  return sampler.sample({.set_up = [&] { values = buffers->next(); },  // does not throw
                         .meeting = message.waiting,
                         .once = once});
}

Mismatch check(const Message& message, Communicator& ranks) {
  std::vector<float> values;
  together(ranks, [&] { values = test_message(ranks.rank(), message.elements); });
  return message.collective == "all_reduce" ? check_all_reduce(ranks, values)
                                            : check_ping_pong(ranks, values);
}

/// The message that is checked is gone before the buffers come, of which the last begins within
/// the rotation.
Bytes memory_of(const Message& message) {
  const Bytes one(static_cast<double>(message.elements) * sizeof(float));
  return message.rotation > Bytes(0) ? message.rotation + 2 * one : one;
}

Measurement check_and_sample(const Message& message, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  together(ranks,
           [&] { expect_host_memory("its buffers", memory_of(message), ranks.node_size()); });
  const std::string wrong = shared_verdict(ranks, check(message, ranks));
  Measurement measurement;
  if (wrong.empty()) {
    measurement = take_samples(message, sampler);
    measurement.max_relative_error = 0.0;
    measurement.work = {Flops(0), Bytes(4.0 * static_cast<double>(message.elements))};
  } else {
    measurement.status = Status::wrong;
    measurement.reason = wrong;
  }
  return measurement;
}

Measurement measure(const Message& message, const Sampler& sampler) {
  Measurement measurement;
  try {
    measurement = check_and_sample(message, sampler);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  measurement.implementation = sampler.communicator().library();
  measurement.warnings.insert(measurement.warnings.end(), message.warnings.begin(),
                              message.warnings.end());
  return measurement;
}

Measurement nothing_to_send(const std::string& collective) {
  return unsupported(Unsupported(fmt::format(
      "{} among 1 rank moves nothing. Start several ranks: mpirun -n 2 dlscale bench comm",
      collective)));
}

std::vector<std::string> choices(const Context& context, std::string_view axis,
                                 const std::vector<std::string>& allowed) {
  std::vector<std::string> chosen = context.list(axis);
  for (const std::string& item : chosen) {
    if (std::find(allowed.begin(), allowed.end(), item) != allowed.end()) continue;
    throw ConfigError(
        fmt::format("--{} is \"{}\". Write {}.", axis, item, fmt::join(allowed, " or ")));
  }
  return chosen;
}

/// What buffers in turn must fill, and what is doubtful about it.
struct Rotation {
  Bytes size;
  std::vector<std::string> warnings;
};

std::map<std::string, Rotation> rotations() {
  const Bytes last_level = backend::last_level_cache();
  return {{"hot", {}}, {"cold", {flush_size(last_level), unknown_size_warnings(last_level)}}};
}

/// Axes that are the same for all cells of a run.
std::map<std::string, std::string> common_axes(const Communicator& ranks) {
  return {{"ranks", std::to_string(ranks.size())},
          {"ranks_on_node", std::to_string(ranks.node_size())},
          {"library", ranks.library()}};
}

Cell make_cell(const Context& context, Message message, const std::string& waiting,
               const std::string& cache) {
  Cell cell;
  cell.axes = common_axes(*context.communicator);
  cell.axes["collective"] = message.collective;
  cell.axes["bytes"] = std::to_string(message.elements * sizeof(float));
  cell.axes["waiting"] = waiting;
  cell.axes["cache"] = cache;
  cell.measure = [message = std::move(message)](const Sampler& sampler) {
    return measure(message, sampler);
  };
  return cell;
}

Cell make_empty_cell(const Context& context, const std::string& collective) {
  Cell cell;
  cell.axes = common_axes(*context.communicator);
  cell.axes["collective"] = collective;
  cell.axes.emplace("bytes", "0");
  cell.measure = [collective](const Sampler&) { return nothing_to_send(collective); };
  return cell;
}

std::vector<Cell> make_cells(Context& context) {
  const auto collectives = choices(context, "collectives", {"all_reduce", "sendrecv"});
  const auto sizes = message_sizes(context.list("sizes"), context.list("networks"));
  const auto waitings = choices(context, "waiting", {"spin", "sleep"});
  const auto caches = choices(context, "cache", {"cold", "hot"});
  const auto warnings = backend::host_warnings(1, context.communicator->node_size());
  const auto rotation_of = rotations();
  std::vector<Cell> cells;
  for (const std::string& collective : collectives) {
    if (context.communicator->size() == 1) {
      cells.push_back(make_empty_cell(context, collective));
      continue;
    }
    for (const auto& [bytes, waiting, cache] : combinations(sizes, waitings, caches)) {
      const Rotation& rotation = rotation_of.at(cache);
      Message message{collective, static_cast<std::size_t>(bytes) / sizeof(float),
                      waiting == "spin" ? Waiting::spin : Waiting::sleep, rotation.size, warnings};
      message.warnings.insert(message.warnings.end(), rotation.warnings.begin(),
                              rotation.warnings.end());
      cells.push_back(make_cell(context, message, waiting, cache));
    }
  }
  return cells;
}

}  // namespace

extern const Benchmark comm{
    .name = "comm",
    .doc = "all-reduce and ping-pong between ranks that do nothing else",
    .axes =
        {
            {"collectives", "all_reduce; sendrecv: half a ping-pong of rank 0 and the last rank",
             "all_reduce"},
            {"sizes",
             "powers (4 B to 64 MiB), neighbours (of those, one f32 more or less), gradients (the "
             "messages of --networks), or sizes such as 64KiB",
             "powers,neighbours,gradients"},
            {"networks", "whose gradients are sent", "alexnet,googlenet,resnet50"},
            {"waiting",
             "how ranks meet before a sample: spin (they start together) or sleep (as in training: "
             "who wakes late keeps the others waiting)",
             "spin"},
            {"cache",
             "cold: buffers in turn that fill twice the last cache, 64 MiB at least; hot: one "
             "buffer",
             "cold"},
        },
    .cells = make_cells,
};

}  // namespace dlscale::bench
