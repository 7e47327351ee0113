#include <array>
#include <limits>

#include "core/base/error.hpp"
#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {
namespace {

using Messages = std::vector<ScalingMessage>;

/// Number of parts of the backward pass, within each of which Grouping::by_time groups gradients.
/// It is about the number of messages that a coordinator starts in a usual backward pass.
constexpr int usual_windows = 8;

/// One message for each tensor.
Messages each_tensor(const TrainingFacts& facts) {
  const Bytes element = facts.gradient / facts.parameters;
  Messages all;
  for (const GradientTensor& tensor : facts.profile.tensors) {
    all.push_back({tensor.elements * element, tensor.ready});
  }
  return all;
}

/// Sends a message as soon as it has `first` bytes, and later ones at `bucket` bytes.
Messages by_bytes(const Messages& tensors, Bytes first, Bytes bucket) {
  Messages messages;
  Bytes limit = first;
  Bytes held;
  for (const ScalingMessage& tensor : tensors) {
    held += tensor.size;
    if (held < limit) continue;
    messages.push_back({held, tensor.ready});
    held = Bytes();
    limit = bucket;
  }
  if (held > Bytes()) messages.push_back({held, tensors.back().ready});
  return messages;
}

/// Groups tensors in the same of `windows` parts of the backward pass, up to `most` bytes.
Messages by_time(const Messages& tensors, int windows, Bytes most) {
  constexpr double rounding = 1e-9;
  Messages messages;
  ScalingMessage held;
  int window = 1;
  const auto is_later = [&](double ready) {
    return ready > static_cast<double>(window) / windows + rounding;
  };
  for (const ScalingMessage& tensor : tensors) {
    if (held.size > Bytes() && (held.size + tensor.size > most || is_later(tensor.ready))) {
      messages.push_back(held);
      held = {};
    }
    while (is_later(tensor.ready)) ++window;
    held = {held.size + tensor.size, tensor.ready};
  }
  if (held.size > Bytes()) messages.push_back(held);
  return messages;
}

/// One message, and several groupings between that and one message for each tensor.
std::vector<Messages> merges(const Messages& tensors, Bytes all) {
  constexpr std::array counts{2, 3, 5, 8, 16, 32};
  const Bytes no_limit(std::numeric_limits<double>::infinity());
  const Messages one{{all, 1.0}};
  std::vector<Messages> lists{one};
  for (const int count : counts) {
    lists.push_back(by_bytes(tensors, all / count, all / count));
    lists.push_back(by_time(tensors, count, no_limit));
  }
  return lists;
}

std::vector<Messages> grouped(const TrainingFacts& facts, Grouping grouping) {
  const FrameworkTraits& framework = facts.framework;
  switch (grouping) {
    case Grouping::single:
      return {Messages{{facts.gradient, 1.0}}};
    case Grouping::each:
      return {each_tensor(facts)};
    case Grouping::by_bytes:
      return {by_bytes(each_tensor(facts), framework.first_bucket, framework.bucket)};
    case Grouping::by_time:
      return {by_time(each_tensor(facts), usual_windows, framework.bucket)};
    case Grouping::best_merge:
      return merges(each_tensor(facts), facts.gradient);
  }
  fail_expectation("a known grouping of gradients");
}

Grouping grouping_of(const TrainingFacts& facts) {
  // Servers and copies send each tensor alone.
  if (facts.synchronisation != cases::Synchronisation::all_reduce) return Grouping::each;
  switch (facts.overlap) {
    case cases::Overlap::none:
      return Grouping::single;
    case cases::Overlap::wfbp:
      return facts.framework.unfused.value_or(Grouping::each);
    case cases::Overlap::merged:
      return Grouping::best_merge;
    case cases::Overlap::scheduled:
      return Grouping::each;
    case cases::Overlap::bucketed:
    case cases::Overlap::bucketed_async_tp:
    case cases::Overlap::unknown:
    case cases::Overlap::other:
      return facts.framework.grouping;
  }
  fail_expectation("a known overlap of a case");
}

}  // namespace

std::vector<Messages> message_lists(const TrainingFacts& facts) {
  EXPECT(!facts.profile.tensors.empty() && facts.parameters > 0 && facts.gradient > Bytes());
  EXPECT(facts.framework.bucket > Bytes() && facts.framework.first_bucket > Bytes());
  return grouped(facts, grouping_of(facts));
}

}  // namespace dlscale::model::scaling
