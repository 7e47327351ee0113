#include "train/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/base/error.hpp"
#include "core/run/schedule_settings.hpp"
#include "train/data/random.hpp"

namespace dlscale::train {
namespace {

std::string name_of_layers(const Network& network, const Bucket& bucket) {
  const std::string& first = network.layer(bucket.layers.front()).name;
  if (bucket.layers.size() == 1) return first;
  return fmt::format("{} … {} ({} layers)", first, network.layer(bucket.layers.back()).name,
                     bucket.layers.size());
}

/// A number that is equal on ranks that may train together; below 2^53, so exact as a double. The
/// cycle time is not part of it, as each rank may choose its own.
double fingerprint(const Program& program, std::size_t messages, const TrainOptions& options) {
  const ScheduleSettings& settings = options.settings;
  std::uint64_t hash = mix(messages, static_cast<std::uint64_t>(options.schedule));
  hash = mix(hash, static_cast<std::uint64_t>(options.synchronisation));
  hash = mix(hash, std::bit_cast<std::uint64_t>(settings.fusion_threshold.si()));
  hash = mix(hash, std::bit_cast<std::uint64_t>(settings.partition.si()));
  hash = mix(hash, static_cast<std::uint64_t>(settings.credit));
  hash = mix(hash, static_cast<std::uint64_t>(settings.servers));
  hash = mix(hash, std::bit_cast<std::uint32_t>(options.sgd.rate));
  hash = mix(hash, std::bit_cast<std::uint32_t>(options.sgd.momentum));
  hash = mix(hash, std::bit_cast<std::uint32_t>(options.sgd.weight_decay));
  hash = mix(hash, static_cast<std::uint64_t>(options.launch));
  hash = mix(hash,
             static_cast<std::uint64_t>(program.spec(program.network().layers().front().id).dtype));
  for (const std::size_t group : options.groups) hash = mix(hash, group);
  for (const char letter : program.parameter_layout()) {
    hash = mix(hash, static_cast<unsigned char>(letter));
  }
  return static_cast<double>(hash >> 11U);
}

}  // namespace

std::vector<Message> plan_messages(const Program& program, std::vector<Bucket> buckets) {
  std::vector<Message> messages;
  for (Bucket& bucket : buckets) {
    std::string name = name_of_layers(program.network(), bucket);
    const std::size_t last = ready_after(program.network(), program.backward_steps(), bucket);
    messages.push_back({std::move(bucket), std::move(name), last});
  }
  EXPECT(std::ranges::is_sorted(messages, {}, &Message::ready_after));
  return messages;
}

std::string name_of(std::span<const Message> messages) {
  EXPECT(!messages.empty());
  if (messages.size() == 1) return messages.front().name;
  return fmt::format("{} … {} ({} messages)", messages.front().name, messages.back().name,
                     messages.size());
}

std::vector<std::size_t> layers_in(std::span<const Message> messages) {
  std::vector<std::size_t> layers;
  for (const Message& message : messages) layers.push_back(message.bucket.layers.size());
  return layers;
}

std::vector<Bytes> sizes_of(Program& program, std::span<const Message> messages) {
  std::vector<Bytes> sizes;
  for (const Message& message : messages) {
    const std::size_t bytes = program.gradients(message.bucket).size_bytes();
    sizes.emplace_back(static_cast<double>(bytes));
  }
  return sizes;
}

void check_agreement(backend::Communicator& communicator, const Program& program,
                     std::span<const Message> messages, const TrainOptions& options) {
  const double mine = fingerprint(program, messages.size(), options);
  std::array<double, 2> extremes{mine, -mine};
  communicator.all_reduce(std::span<double>(extremes), backend::Reduction::max);
  if (extremes[0] == -extremes[1]) return;
  throw ConfigError(
      "the ranks hold different parameters, hold them in different layouts or train by different "
      "options (their gradients cannot be added). Give all ranks the same network, schedule, data "
      "type, learning rate, momentum, launch, library and kind of processor.");
}

void check_launch(const Program& program, const TrainOptions& options) {
  if (options.launch == Launch::eager) return;
  if (!program.device().own_memory()) {
    throw ConfigError(fmt::format(
        "{} computes on the host, where no kernel is launched that a graph could hold. Launch "
        "eagerly.",
        program.device().name()));
  }
  if (options.record_spans) {
    throw ConfigError(
        "a graph runs as a whole, so a trace would hold no layers. Leave out the trace, or "
        "launch kernels eagerly.");
  }
  check_launch(options.launch, options.schedule);
}

}  // namespace dlscale::train
