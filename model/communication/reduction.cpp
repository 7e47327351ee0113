#include "model/communication/reduction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/communication/algorithm_fit.hpp"

namespace dlscale::model {
namespace {

constexpr Bytes least_message(65536);
constexpr std::size_t least_messages = 3;

bool is_pair(const MessageFamily& reduce, const MessageFamily& broadcast) {
  return reduce.collective == "reduce" && broadcast.collective == "broadcast" &&
         reduce.algorithm != "library" && reduce.algorithm == broadcast.algorithm &&
         reduce.segments == broadcast.segments && reduce.library == broadcast.library &&
         reduce.waiting == broadcast.waiting && reduce.axes == broadcast.axes &&
         reduce.measured_on == broadcast.measured_on;
}

std::optional<LinkTerms> sample_terms(const MessageFamily& family, const MessageSample& sample) {
  const Carrier carrier{family.collective, ChosenBy::caller, family.algorithm, family.segments};
  return carrier.terms(sample.layout, sample.bytes);
}

/// C, if both send as many messages and bytes.
std::optional<double> additions(const MessageFamily& reduce, const MessageFamily& broadcast,
                                const MessageSample& sample) {
  const auto with = sample_terms(reduce, sample);
  const auto without = sample_terms(broadcast, sample);
  if (!with || !without || !(with->gamma > 0)) return std::nullopt;
  if (with->at(sample.bytes) != without->at(sample.bytes)) return std::nullopt;
  return with->gamma;
}

const MessageSample* same_in(const MessageFamily& family, const MessageSample& wanted) {
  const auto found = std::ranges::find_if(family.samples, [&](const MessageSample& sample) {
    return is_same(sample.layout, wanted.layout) && sample.bytes == wanted.bytes;
  });
  return found == family.samples.end() ? nullptr : &*found;
}

/// γ from each message of both.
std::vector<double> differences(const MessageFamily& reduce, const MessageFamily& broadcast) {
  std::vector<double> all;
  for (const MessageSample& sample : reduce.samples) {
    const MessageSample* other = same_in(broadcast, sample);
    if (sample.bytes < least_message || other == nullptr) continue;
    const auto times = additions(reduce, broadcast, sample);
    if (!times) continue;
    const Seconds adding = sample.time.value - other->time.value;
    all.push_back((adding / (*times * sample.bytes)).si());
  }
  return all;
}

}  // namespace

std::optional<ReductionTime> reduction_by_difference(std::span<const MessageFamily> families) {
  std::vector<double> all;
  std::set<std::string> algorithms;
  for (const MessageFamily& reduce : families) {
    for (const MessageFamily& broadcast : families) {
      if (!is_pair(reduce, broadcast)) continue;
      const std::vector<double> found = differences(reduce, broadcast);
      all.insert(all.end(), found.begin(), found.end());
      if (!found.empty()) algorithms.insert(reduce.algorithm);
    }
  }
  if (all.size() < least_messages) return std::nullopt;
  const Summary summary = summarize(all);
  if (!(summary.median > 0)) return std::nullopt;
  return ReductionTime{
      {SecondsPerByte(summary.median), SecondsPerByte(std::max(0.0, summary.ci95_low)),
       SecondsPerByte(summary.ci95_high)},
      fmt::format("reduce less broadcast by {}, median of {} messages", fmt::join(algorithms, ", "),
                  all.size())};
}

ReductionTime reduction_by_memory(const Estimate<Seconds>& pass, Bytes bytes) {
  EXPECT(bytes.si() > 0);
  return {{pass.value / bytes, pass.low / bytes, pass.high / bytes},
          fmt::format("bench memory, sums of arrays of {:.0f} bytes", bytes.si())};
}

}  // namespace dlscale::model
