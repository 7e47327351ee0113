#include "model/sgd_iter/messages/message_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/network/merge.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

/// The gradients of `buckets`, with the predicted times at which backward completes them.
std::vector<ReadyGradient> ready_gradients(const Network& network, const KernelTimes& kernels,
                                           std::span<const Bucket> buckets) {
  const auto steps = backward_steps(network);
  std::vector<ReadyGradient> gradients;
  Seconds computed;
  std::size_t done = 0;
  for (const Bucket& bucket : buckets) {
    const std::size_t end = ready_after(network, steps, bucket) + 1;
    for (; done < end; ++done) computed += kernels.time(steps[done]).value;
    gradients.push_back({computed, message_size(bucket)});
  }
  return gradients;
}

/// Fits as the engine does, from measured messages of one gradient each.
LinearCost fitted_cost(std::span<const ReadyGradient> gradients, const MessageTimes& messages) {
  std::vector<Bytes> sizes;
  std::vector<Seconds> times;
  for (const ReadyGradient& gradient : gradients) {
    sizes.push_back(gradient.bytes);
    times.push_back(messages.time(gradient.bytes).value);
  }
  return fit_cost(sizes, times);
}

std::string in_messages(std::size_t gradients, std::span<const Bucket> messages) {
  const auto largest = std::ranges::max_element(messages, {}, &Bucket::elements);
  return fmt::format("{} gradients in {} {}, the largest of {}", gradients, messages.size(),
                     messages.size() == 1 ? "message" : "messages",
                     to_text(message_size(*largest)));
}

}  // namespace

Bytes message_size(const Bucket& bucket) {
  return Bytes(f32_bytes * static_cast<double>(bucket.elements));
}

std::vector<Bucket> planned_messages(const Network& network, const Run& run,
                                     const KernelTimes& kernels, const MessageTimes& messages,
                                     Notes& notes) {
  std::vector<Bucket> buckets = gradient_buckets(network, run.schedule, run.settings);
  if (!is_merged(run.schedule) || buckets.empty()) return buckets;
  const auto gradients = ready_gradients(network, kernels, buckets);
  const LinearCost cost = fitted_cost(gradients, messages);
  std::vector<Bucket> merged = merged_buckets(buckets, merge_for(run.schedule, gradients, cost));
  const NoteKind kind =
      run.schedule == Schedule::merged ? NoteKind::merged_optimally : NoteKind::merged_greedily;
  notes.add(kind, {schedule_name(run.schedule)},
            {in_messages(buckets.size(), merged), cost.a, cost.b.si() * 1e9});
  return merged;
}

}  // namespace dlscale::model
