#include "bench/comm/replay/replay.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bench/comm/replay/replay_carrier.hpp"
#include "bench/comm/traffic/messages.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/gather_on_ranks.hpp"
#include "bench/engine/sampler_warnings.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using Times = std::vector<std::vector<double>>;

/// Size of the message for that many ranks.
std::size_t bytes_on(int ranks, const ProfiledMessage& message) {
  const std::optional<backend::Collective> collective = collective_named(message.collective);
  if (!collective) {
    throw ConfigError(fmt::format(
        "a message of the profile is of the collective \"{}\", which dlscale does not know. Write "
        "the profile anew with dlscale bench e2e --profile FILE.",
        message.collective));
  }
  if (message.bytes % static_cast<std::int64_t>(size_of(replayed_element)) != 0) {
    throw ConfigError(
        fmt::format("a message of the profile has {} B, which is not a whole number of {} as "
                    "training sends them. "
                    "Write the profile anew with dlscale bench e2e --profile FILE.",
                    message.bytes, to_string(replayed_element)));
  }
  const bool blocks = backend::in_blocks(*collective);
  return static_cast<std::size_t>(
      blocks ? in_equal_blocks({message.bytes}, ranks, replayed_element).front() : message.bytes);
}

/// The recorded root, modulo the number of ranks.
std::optional<Rank> root_on(int ranks, const ProfiledMessage& message) {
  const std::optional<backend::Collective> collective = collective_named(message.collective);
  if (collective != backend::Collective::reduce && collective != backend::Collective::broadcast) {
    return std::nullopt;
  }
  return message.root.value_or(0) % ranks;
}

/// A sampler that takes enough samples to include each iteration.
Sampler for_all(const Sampler& sampler, std::size_t iterations) {
  StoppingCriterion criterion = sampler.criterion();
  criterion.min_samples = std::max(criterion.min_samples, static_cast<int>(iterations));
  criterion.max_samples = std::max(criterion.max_samples, criterion.min_samples);
  return {sampler.communicator(), criterion};
}

/// Times of all messages of the iterations, one after the other.
std::vector<double> times_of(std::span<const ReplayedIteration> iterations) {
  std::vector<double> times;
  for (const ReplayedIteration& each : iterations) {
    times.insert(times.end(), each.times.begin(), each.times.end());
  }
  return times;
}

/// Times of the sampled iterations, which are the last ones, on all ranks, by message.
std::map<ReplayedMessage, Times> times_by_message(
    Communicator& ranks, std::span<const ReplayedIteration> sampled,
    const std::vector<std::vector<ReplayStep>>& iterations) {
  const Times all = gather_on_ranks(ranks, times_of(sampled));
  std::map<ReplayedMessage, Times> times;
  std::size_t at = 0;
  for (const ReplayedIteration& each : sampled) {
    for (const ReplayStep& step : iterations[each.number]) {
      Times& of_message = times[step.message];
      of_message.resize(all.size());
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        of_message[rank].push_back(all[rank][at]);
      }
      ++at;
    }
  }
  return times;
}

Measurement wrong(const std::string& reason) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason = reason;
  return measurement;
}

/// Time at which the last message of an iteration was done.
Seconds end_of(const std::vector<ProfiledMessage>& iteration, std::size_t rank) {
  Seconds end;
  for (const ProfiledMessage& message : iteration) end = std::max(end, message.end(rank));
  return end;
}

}  // namespace

Replay::Replay(ReplayPlan plan, int ranks) : plan_(std::move(plan)) {
  for (const auto& iteration : plan_.profile.iterations) {
    auto& steps = iterations_.emplace_back();
    for (const ProfiledMessage& message : iteration) {
      steps.push_back({.message = {.place = steps.size(),
                                   .collective = message.collective,
                                   .bytes = bytes_on(ranks, message),
                                   .root = root_on(ranks, message)},
                       .recorded = &message});
    }
  }
  EXPECT(!iterations_.empty());
}

std::set<ReplayedMessage> Replay::messages() const {
  std::set<ReplayedMessage> all;
  for (const auto& iteration : iterations_) {
    for (const ReplayStep& step : iteration) all.insert(step.message);
  }
  return all;
}

Measurement Replay::measure(const std::optional<ReplayedMessage>& what, const Sampler& sampler) {
  if (!whole_ || given_.contains(what)) carry_out(sampler);
  given_.insert(what);
  Measurement measurement = what ? row(*what, sampler.criterion().relative_half_width) : *whole_;
  measurement.implementation = sampler.communicator().host_library();
  measurement.warnings.insert(measurement.warnings.end(), plan_.warnings.begin(),
                              plan_.warnings.end());
  if (!measurement.series.contains("time")) return measurement;
  measurement.series["recorded"] = make_series("s", recorded(what));
  measurement.implementation +=
      fmt::format("; recorded {} by {} on {} ranks",
                  to_text(Seconds(measurement.at("recorded").summary.median)),
                  plan_.profile.library, plan_.profile.ranks());
  return measurement;
}

void Replay::carry_out(const Sampler& sampler) {
  given_.clear();
  times_.clear();
  try {
    ReplayCarrier carrier(plan_, iterations_, sampler.communicator());
    const std::string verdict = carrier.check();
    if (!verdict.empty()) {
      whole_ = wrong(verdict);
      return;
    }
    // Only the communicator throws here, and its failures leave ranks apart.
    whole_ = for_all(sampler, iterations_.size())
                 .sample({.set_up = [&] { carrier.fill(); },
                          .meeting = plan_.waiting,
                          .once = [&] { return carrier.iterate(); }});
    whole_->max_relative_error = 0.0;
    const auto time = whole_->series.find("time");
    if (time == whole_->series.end()) return;
    const std::size_t sampled = time->second.samples.front().size();
    times_ = times_by_message(sampler.communicator(), std::span(carrier.done()).last(sampled),
                              iterations_);
  } catch (const Unsupported& error) {
    whole_ = unsupported(error);
  }
}

/// The row of a message. It takes over the status of the whole replay, unless that is unstable:
/// the interval of the whole says nothing about a message's.
Measurement Replay::row(const ReplayedMessage& what, double wanted_width) const {
  Measurement row;
  row.work = {Flops(0), Bytes(static_cast<double>(what.bytes))};
  if (whole_->status != Status::unstable) {
    row.status = whole_->status;
    row.reason = whole_->reason;
  }
  const auto times = times_.find(what);
  if (times == times_.end()) return row;
  row.series["time"] = make_series("s", times->second);
  row.max_relative_error = 0.0;
  if (row.status == Status::ok) mark_if_unstable(row, row.at("time").summary, wanted_width);
  return row;
}

Replay::Times Replay::recorded(const std::optional<ReplayedMessage>& what) const {
  Times samples(plan_.profile.ranks());
  for (std::size_t i = 0; i < iterations_.size(); ++i) {
    for (std::size_t rank = 0; rank < samples.size(); ++rank) {
      if (!what) samples[rank].push_back(end_of(plan_.profile.iterations[i], rank).si());
    }
    for (const ReplayStep& step : iterations_[i]) {
      if (step.message != what) continue;
      for (std::size_t rank = 0; rank < samples.size(); ++rank) {
        samples[rank].push_back(step.recorded->time[rank].si());
      }
    }
  }
  return samples;
}

}  // namespace dlscale::bench
