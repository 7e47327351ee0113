#include "model/sgd_iter/input_pipeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace dlscale::model {
namespace {

template <class Q>
bool is_amount(Q value) {
  return std::isfinite(value.si()) && value >= Q();
}

template <class Q>
bool is_positive(Q value) {
  return is_amount(value) && value > Q();
}

void expect_input(const SampleCost& sample, const InputNode& node) {
  EXPECT(is_positive(sample.stored) && is_amount(sample.copied));
  EXPECT(is_amount(sample.decode) && is_amount(sample.preprocess));
  EXPECT(node.workers >= 1 && node.threads >= 1);
  EXPECT(is_positive(node.read) && is_positive(node.copy));
  EXPECT(!node.most_decoded || (std::isfinite(*node.most_decoded) && *node.most_decoded > 0));
}

}  // namespace

InputTimes input_times(const SampleCost& sample, const InputNode& node, int batch) {
  expect_input(sample, node);
  EXPECT(batch >= 1);
  const double b = batch;
  const double samples = node.workers * b;
  InputTimes times{samples * sample.stored / node.read, samples * sample.decode / node.threads,
                   samples * sample.preprocess / node.threads, b * sample.copied / node.copy};
  if (node.most_decoded) {
    times.decode = std::max(times.decode, Seconds(samples / *node.most_decoded));
  }
  return times;
}

Seconds input_period(const InputTimes& times, InputThreads threads) {
  switch (threads) {
    case InputThreads::of_a_stage:
      return std::max({times.read, times.decode, times.preprocess});
    case InputThreads::in_turn:
      return times.read + times.decode + times.preprocess;
  }
  fail_expectation("threads of the enumeration");
}

InputRate input_rate(const SampleCost& sample, const InputNode& node) {
  const InputTimes times = input_times(sample, node, 1);
  const std::array stages{
      std::pair{times.read, InputStage::read}, std::pair{times.decode, InputStage::decode},
      std::pair{times.preprocess, InputStage::preprocess}, std::pair{times.copy, InputStage::copy}};
  auto slowest = stages.front();
  for (const auto& stage : stages) {
    if (stage.first > slowest.first) slowest = stage;
  }
  return {node.workers / slowest.first.si(), slowest.second};
}

BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, int nodes) {
  EXPECT(is_positive(client) && is_positive(server) && nodes >= 1);
  return std::min(client, server / nodes);
}

Seconds seek_time(int batch, Seconds seek, int queue_depth) {
  EXPECT(batch >= 1 && queue_depth >= 1 && is_amount(seek));
  return batch * seek / queue_depth;
}

BytesPerSecond cached_read(BytesPerSecond storage, BytesPerSecond memory, double kept) {
  EXPECT(is_positive(storage) && is_positive(memory) && kept >= 0 && kept <= 1);
  const SecondsPerByte time = std::max((1 - kept) / storage, kept / memory);
  return 1 / time;
}

Seconds reading_time(Bytes data, int epochs, BytesPerSecond storage, BytesPerSecond memory,
                     double kept) {
  EXPECT(is_positive(data) && epochs >= 1);
  return data / storage + (epochs - 1) * (data / cached_read(storage, memory, kept));
}

Seconds input_stall(Seconds io, Seconds compute) {
  EXPECT(is_amount(io) && is_amount(compute));
  return std::max(Seconds(), io - compute);
}

double accelerator_utilisation(Seconds compute, Seconds stall) {
  EXPECT(is_positive(compute) && is_amount(stall));
  return compute / (compute + stall);
}

Seconds late_batch_stall(Seconds late, Seconds compute, int prefetch) {
  EXPECT(is_amount(late) && is_amount(compute) && prefetch >= 1);
  return std::max(Seconds(), late - prefetch * compute);
}

BytesPerSecond required_read(double samples_per_s, Bytes stored) {
  EXPECT(std::isfinite(samples_per_s) && samples_per_s > 0 && is_positive(stored));
  return stored * samples_per_s / Seconds(1);
}

Seconds pinned_copy(Bytes size, Seconds startup, BytesPerSecond bus) {
  EXPECT(is_amount(size) && is_amount(startup) && is_positive(bus));
  return startup + size / bus;
}

Seconds pageable_copy(Bytes size, BytesPerSecond staging, BytesPerSecond bus) {
  EXPECT(is_amount(size) && is_positive(staging) && is_positive(bus));
  return size / staging + size / bus;
}

}  // namespace dlscale::model
