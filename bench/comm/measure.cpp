#include "bench/comm/measure.hpp"

#include <optional>
#include <utility>

#include "bench/comm/start_skew.hpp"
#include "bench/comm/stragglers.hpp"
#include "bench/conv/finding.hpp"
#include "bench/together.hpp"
#include "bench/unsupported.hpp"
#include "core/error.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;

Mismatch check(Traffic& traffic, Communicator& ranks) {
  std::vector<std::byte> memory;
  together(ranks, [&] {
    memory.resize(traffic.memory());
    traffic.write_numbers(memory);
  });
  traffic.use(memory);
  static_cast<void>(traffic.once());
  return traffic.compare(memory);
}

/// Ones, of which sums stay small.
std::vector<std::byte> one(backend::ElementType type) {
  std::vector<std::byte> bytes(size_of(type));
  write_element(type, 1, bytes.data());
  return bytes;
}

Measurement take_samples(Traffic& traffic, const Message& message,
                         const MessageConditions& conditions, const Sampler& sampler) {
  const auto buffers = make_buffers(sampler.communicator(), traffic, message, conditions);
  StartWatch starts(sampler.communicator());
  // Ranks that sleep meet as in training, where who wakes late keeps the others waiting.
  const bool lines_up = traffic.lines_up() && conditions.waiting == backend::Waiting::spin;
  std::optional<backend::Waiting> meeting = conditions.waiting;
  if (lines_up) meeting.reset();
  // Nothing of this throws but the communicator.
  Measurement measurement = sampler.sample({.set_up = [&] { traffic.use(buffers->next()); },
                                            .meeting = meeting,
                                            .once =
                                                [&] {
                                                  if (lines_up) traffic.line_up();
                                                  const Seconds time = traffic.once();
                                                  starts.note(traffic.stay());
                                                  return time;
                                                }});
  starts.report(traffic, measurement);
  return measurement;
}

/// Whether all ranks do the same, so that one that is always last is slow itself.
bool is_symmetric(const Message& message) {
  const auto collective = collective_named(message.collective);
  return collective && *collective != backend::Collective::reduce &&
         *collective != backend::Collective::broadcast;
}

void add_stragglers(Measurement& measurement, const Message& message) {
  const auto time = measurement.series.find("time");
  if (time == measurement.series.end() || !is_symmetric(message)) return;
  for (std::string& warning : straggler_warnings(time->second.samples)) {
    measurement.warnings.push_back(std::move(warning));
  }
}

Measurement check_and_sample(Traffic& traffic, const Message& message,
                             const MessageConditions& conditions, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  together(ranks, [&] {
    expect_host_memory("its buffers", memory_of(traffic, conditions.rotation), ranks.node_size());
  });
  const std::string verdict = shared_verdict(ranks, check(traffic, ranks));
  if (!verdict.empty()) return wrong_row(verdict);
  Measurement measurement = take_samples(traffic, message, conditions, sampler);
  if (const auto bytes = traffic.bytes_moved()) {
    measurement.max_relative_error = 0.0;
    measurement.work = {Flops(0), *bytes};
  }
  measurement.algorithmic_work = traffic.algorithmic_work();
  add_stragglers(measurement, message);
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
    buffers = std::make_unique<RotatingBuffers>(traffic.memory(), one(message.type),
                                                conditions.rotation, conditions.filled);
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
  Measurement measurement;
  std::string implementation = ranks.library();
  try {
    const std::unique_ptr<Traffic> traffic = make_traffic(ranks, message);
    implementation = traffic->implementation();
    measurement = check_and_sample(*traffic, message, conditions, sampler);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  measurement.implementation = implementation;
  measurement.warnings.insert(measurement.warnings.end(), conditions.warnings.begin(),
                              conditions.warnings.end());
  return measurement;
}

}  // namespace dlscale::bench
