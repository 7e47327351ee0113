#include "bench/comm/traffic/measure.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/comm/traffic/rotating_buffers.hpp"
#include "bench/comm/traffic/start_skew.hpp"
#include "bench/comm/traffic/stragglers.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/device_watch.hpp"
#include "bench/workbench/finding.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;

/// Runs `traffic` once and checks it. `device` holds the messages; null: the host.
Mismatch check(Traffic& traffic, Communicator& ranks, backend::ComputeDevice* device) {
  std::vector<std::byte> memory;
  std::optional<DeviceMemory> there;
  together(ranks, [&] {
    memory.resize(traffic.memory());
    traffic.write_numbers(memory);
    if (device == nullptr) return;
    there.emplace(*device, memory.size());
    there->write(memory);
  });
  traffic.use(there ? there->there() : std::span(memory));
  static_cast<void>(traffic.once());
  traffic.leave();
  if (there) together(ranks, [&] { there->read(memory); });
  return traffic.compare(memory);
}

/// An element of value one; sums of ones stay small.
std::vector<std::byte> one(backend::ElementType type) {
  std::vector<std::byte> bytes(size_of(type));
  write_element(type, 1, bytes.data());
  return bytes;
}

/// Errors that appeared while samples were taken; empty if none.
std::string verdict_after(Traffic& traffic, Communicator& ranks, backend::ComputeDevice* device,
                          const Measurement& measurement) {
  if (measurement.status == Status::interrupted) return {};  // an interruption ends collective work
  try {
    return shared_verdict(ranks, check(traffic, ranks, device));
  } catch (const Interrupted&) {
    return {};  // on all ranks: keeps the samples
  }
}

bool involves_all(const Traffic& traffic, const Communicator& ranks) {
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    if (!traffic.involves(rank)) return false;
  }
  return true;
}

Doing doing_of(const Message& message) {
  const auto collective = collective_named(message.collective);
  const bool same = collective && *collective != backend::Collective::reduce &&
                    *collective != backend::Collective::broadcast;
  return same ? Doing::the_same : Doing::their_part;
}

/// Whether all nodes have as many ranks. Otherwise ranks with neighbours on their node look faster.
bool nodes_are_alike(Communicator& ranks) {
  const int mine = ranks.node_size();
  std::vector<int> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return std::ranges::all_of(all, [&](int other) { return other == mine; });
}

/// Whether times show a slow link. Two ranks share their only link.
bool tells_links_apart(const Message& message, Communicator& ranks) {
  return message.collective == "pairs" && ranks.size() > 2 && nodes_are_alike(ranks);
}

/// Adds warnings about slow ranks. Collective, after starts.report().
void name_slow_ranks(const StartWatch& starts, const Message& message, Communicator& ranks,
                     Measurement& measurement) {
  if (starts.reported().empty()) return;  // interrupted in the warm-up
  const bool by_link = tells_links_apart(message, ranks);
  const Seconds unsure(measurement.at("clock_uncertainty").summary.median);
  auto warnings = slow_rank_warnings(starts.reported(), doing_of(message), unsure);
  if (warnings.empty() && by_link) {
    warnings = straggler_warnings(measurement.at("time").samples);
  }
  measurement.warnings.insert(measurement.warnings.end(), warnings.begin(), warnings.end());
}

Measurement take_samples(Traffic& traffic, const Message& message,
                         const MessageConditions& conditions, RotatingBuffers& buffers,
                         std::size_t& runs, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  StartWatch starts(ranks);
  // Ranks that block use a barrier as in training, where a late wake-up delays the others.
  const bool lines_up = traffic.lines_up() && conditions.waiting == backend::WaitPolicy::spin;
  std::optional<backend::WaitPolicy> barrier = conditions.waiting;
  if (lines_up) barrier.reset();
  // Only the communicator and the device throw here, and their failures leave ranks apart.
  Measurement measurement = sampler.sample({.set_up = [&] { traffic.use(buffers.next()); },
                                            .barrier = barrier,
                                            .once =
                                                [&] {
                                                  if (lines_up) traffic.line_up();
                                                  const Seconds time = traffic.once();
                                                  starts.note(traffic.stay());
                                                  ++runs;
                                                  return time;
                                                }});
  traffic.leave();
  starts.report(traffic, measurement);
  if (involves_all(traffic, ranks)) name_slow_ranks(starts, message, ranks, measurement);
  return measurement;
}

/// Adds the library's facts to a row with times; the library runs the message once more.
void add_facts(Traffic& traffic, RotatingBuffers& buffers, Communicator& ranks,
               Measurement& measurement) {
  if (measurement.series.empty()) return;  // interrupted, on all ranks
  std::optional<backend::CallFacts> facts;
  try {
    together(ranks, [&] { traffic.use(buffers.next()); });
    facts = traffic.facts();
  } catch (const Interrupted&) {  // the samples are kept
  }
  traffic.leave();
  if (!facts) return;
  if (facts->expected) {
    measurement.series["library_estimate"] = make_series("s", {{facts->expected->si()}});
  }
  if (!facts->choice.empty()) measurement.implementation += ": " + facts->choice;
  if (!facts->unknown.empty()) measurement.warnings.push_back(facts->unknown);
}

Measurement sample_on_device(Traffic& traffic, const Message& message,
                             const MessageConditions& conditions, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  const auto buffers = make_buffers(ranks, traffic, message, conditions);
  const auto witness = conditions.witness ? conditions.witness : witness_of(*conditions.device);
  Measurement measurement = with_conditions(witness.value(), ranks, [&](std::size_t& runs) {
    return take_samples(traffic, message, conditions, *buffers, runs, sampler);
  });
  measurement.implementation = traffic.implementation();
  if (measurement.status != Status::interrupted) add_facts(traffic, *buffers, ranks, measurement);
  return measurement;
}

Measurement sample_on_host(Traffic& traffic, const Message& message,
                           const MessageConditions& conditions, const Sampler& sampler) {
  const auto buffers = make_buffers(sampler.communicator(), traffic, message, conditions);
  std::size_t runs = 0;
  Measurement measurement = take_samples(traffic, message, conditions, *buffers, runs, sampler);
  measurement.implementation = traffic.implementation();
  return measurement;
}

/// Throws Unsupported if memory is short.
void expect_room(const Traffic& traffic, const MessageConditions& conditions, int ranks_on_node) {
  const Bytes buffers = memory_of(traffic, conditions.rotation);
  if (!conditions.device) return expect_host_memory("its buffers", buffers, ranks_on_node);
  const Bytes numbers(static_cast<double>(traffic.memory()));
  expect_memory(*conditions.device, buffers, numbers, ranks_on_node);
}

Measurement check_and_sample(Traffic& traffic, const Message& message,
                             const MessageConditions& conditions, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  backend::ComputeDevice* device = conditions.device.get();
  together(ranks, [&] { expect_room(traffic, conditions, ranks.node_size()); });
  const std::string verdict = shared_verdict(ranks, check(traffic, ranks, device));
  if (!verdict.empty()) return wrong_row(verdict);
  const auto sample = device == nullptr ? sample_on_host : sample_on_device;
  Measurement measurement = sample(traffic, message, conditions, sampler);
  const std::string after = verdict_after(traffic, ranks, device, measurement);
  if (!after.empty()) return wrong_row("after the samples " + after);
  if (const auto bytes = traffic.bytes_moved()) {
    measurement.max_relative_error = 0.0;
    measurement.work = {Flops(0), *bytes};
  }
  measurement.algorithmic_work = traffic.algorithmic_work();
  return measurement;
}

}  // namespace

Bytes memory_of(const Traffic& traffic, Bytes rotation) {
  const Bytes one_set(static_cast<double>(traffic.memory()));
  const Bytes beside(static_cast<double>(traffic.memory_beside()));
  return beside + (rotation > Bytes(0) ? rotation + 2 * one_set : one_set);
}

std::unique_ptr<RotatingBuffers> make_buffers(Communicator& ranks, const Traffic& traffic,
                                              const Message& message,
                                              const MessageConditions& conditions) {
  std::unique_ptr<RotatingBuffers> buffers;
  together(ranks, [&] {
    buffers =
        std::make_unique<RotatingBuffers>(traffic.memory(), one(message.type), conditions.rotation,
                                          conditions.filled, conditions.device.get());
  });
  return buffers;
}

Measurement wrong_row(const std::string& reason) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason = reason;
  return measurement;
}

Measurement measure_traffic(const Message& message, const MessageConditions& conditions,
                            const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  backend::ComputeDevice* device = conditions.device.get();
  Measurement measurement;
  std::string implementation = device == nullptr ? ranks.host_library() : device_library(ranks);
  try {
    const std::unique_ptr<Traffic> traffic = device == nullptr
                                                 ? make_traffic(ranks, message)
                                                 : make_device_traffic(ranks, message, *device);
    implementation = traffic->implementation();
    measurement = check_and_sample(*traffic, message, conditions, sampler);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  if (measurement.implementation.empty()) measurement.implementation = implementation;
  measurement.warnings.insert(measurement.warnings.end(), conditions.warnings.begin(),
                              conditions.warnings.end());
  return measurement;
}

}  // namespace dlscale::bench
