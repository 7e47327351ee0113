#include "core/results/communication_profile.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

/// Calls by collective and exponent.
using Calls = std::map<std::pair<std::string, int>, std::vector<const ProfiledMessage*>>;

Calls by_size(const CommunicationProfile& profile) {
  Calls calls;
  for (const auto& iteration : profile.iterations) {
    for (const ProfiledMessage& message : iteration) {
      calls[{message.collective, size_exponent(message.bytes)}].push_back(&message);
    }
  }
  return calls;
}

SizeBucket add_up(const std::vector<const ProfiledMessage*>& calls) {
  SizeBucket bucket{.collective = calls.front()->collective,
                    .exponent = size_exponent(calls.front()->bytes),
                    .calls = calls.size()};
  std::vector<double> times;
  times.reserve(calls.size());
  for (const ProfiledMessage* call : calls) {
    const Seconds time = slowest(*call);
    if (is_power_of_two(call->bytes)) {
      ++bucket.powers_of_two;
      bucket.power_time += time;
    }
    if (call->layers > 1) {
      ++bucket.fused;
      bucket.fused_time += time;
    }
    if (call->layers == 0) ++bucket.untold;
    bucket.bytes += Bytes(static_cast<double>(call->bytes));
    bucket.time += time;
    times.push_back(time.si());
  }
  bucket.call = summarize(times);
  return bucket;
}

}  // namespace

int size_exponent(std::int64_t bytes) {
  EXPECT(bytes >= 1);
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1;
}

bool is_power_of_two(std::int64_t bytes) {
  EXPECT(bytes >= 1);
  return std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

Seconds slowest(const ProfiledMessage& message) {
  EXPECT(!message.time.empty());
  return *std::ranges::max_element(message.time);
}

std::vector<SizeBucket> size_buckets(const CommunicationProfile& profile) {
  std::vector<SizeBucket> buckets;
  Seconds all;
  for (const auto& [key, calls] : by_size(profile)) {
    buckets.push_back(add_up(calls));
    all += buckets.back().time;
  }
  for (SizeBucket& bucket : buckets) {
    if (all > Seconds(0)) bucket.share = bucket.time / all;
  }
  return buckets;
}

}  // namespace dlscale
