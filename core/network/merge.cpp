#include "core/network/merge.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

/// Sums for the fit of a + b M.
struct Sums {
  double n = 0;
  double m = 0;
  double t = 0;
  double mm = 0;
  double mt = 0;
};

Sums sums_of(std::span<const Bytes> sizes, std::span<const Seconds> times) {
  Sums sums;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double m = sizes[i].si();
    const double t = times[i].si();
    sums.n += 1;
    sums.m += m;
    sums.t += t;
    sums.mm += m * m;
    sums.mt += m * t;
  }
  return sums;
}

LinearCost proportional(const Sums& sums) {
  return {Seconds(), SecondsPerByte(sums.mt / sums.mm)};
}

bool are_in_order(std::span<const ReadyGradient> gradients) {
  return std::ranges::is_sorted(gradients, {}, &ReadyGradient::ready);
}

Bytes total(std::span<const ReadyGradient> gradients) {
  return std::accumulate(
      gradients.begin(), gradients.end(), Bytes(),
      [](Bytes sum, const ReadyGradient& gradient) { return sum + gradient.bytes; });
}

/// Best result for a prefix of the gradients: arrival of the last message, and its gradients.
struct Best {
  Seconds arrival;
  std::size_t last = 0;
};

Best best_of_prefix(std::span<const ReadyGradient> prefix, std::span<const Best> shorter,
                    const LinearCost& cost) {
  Best best;
  Bytes message;
  for (std::size_t last = 1; last <= prefix.size(); ++last) {
    message += prefix[prefix.size() - last].bytes;
    const Seconds before = shorter[prefix.size() - last].arrival;
    const Seconds arrival = std::max(before, prefix.back().ready) + cost(message);
    if (last == 1 || arrival < best.arrival) best = {arrival, last};
  }
  return best;
}

}  // namespace

LinearCost fit_cost(std::span<const Bytes> sizes, std::span<const Seconds> times) {
  EXPECT(!sizes.empty() && sizes.size() == times.size());
  EXPECT(std::ranges::all_of(sizes, [](Bytes size) { return size > Bytes(); }));
  const Sums sums = sums_of(sizes, times);
  if (std::ranges::all_of(sizes, [&](Bytes size) { return size == sizes.front(); })) {
    return proportional(sums);
  }
  const double b = (sums.n * sums.mt - sums.m * sums.t) / (sums.n * sums.mm - sums.m * sums.m);
  const double a = (sums.t - b * sums.m) / sums.n;
  if (b < 0) return {Seconds(sums.t / sums.n), SecondsPerByte()};
  if (a < 0) return proportional(sums);
  return {Seconds(a), SecondsPerByte(b)};
}

Seconds last_arrival(std::span<const ReadyGradient> gradients, std::span<const std::size_t> groups,
                     const LinearCost& cost) {
  Seconds arrival;
  for (const std::size_t count : groups) {
    EXPECT(count >= 1 && count <= gradients.size());
    const auto group = gradients.first(count);
    arrival = std::max(arrival, group.back().ready) + cost(total(group));
    gradients = gradients.subspan(count);
  }
  EXPECT(gradients.empty());
  return arrival;
}

Groups merge_greedily(std::span<const ReadyGradient> gradients, const LinearCost& cost) {
  EXPECT(are_in_order(gradients));
  Groups groups;
  Seconds arrival;  // arrival of the messages before the open one
  Bytes message;    // size of the open message
  std::size_t count = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    message += gradients[i].bytes;
    ++count;
    const Seconds tau = std::max(arrival, gradients[i].ready);
    if (i + 1 < gradients.size()) {
      const Seconds r = gradients[i + 1].ready;
      if (r < tau + cost(message) && (tau > r || r - tau < cost.a)) continue;
    }
    arrival = tau + cost(message);
    groups.push_back(count);
    message = Bytes();
    count = 0;
  }
  return groups;
}

Groups merge_optimally(std::span<const ReadyGradient> gradients, const LinearCost& cost) {
  EXPECT(are_in_order(gradients));
  std::vector<Best> best{Best{}};  // by length of the prefix
  for (std::size_t n = 1; n <= gradients.size(); ++n) {
    best.push_back(best_of_prefix(gradients.first(n), best, cost));
  }
  Groups groups;
  for (std::size_t n = gradients.size(); n > 0; n -= best[n].last) groups.push_back(best[n].last);
  std::ranges::reverse(groups);
  return groups;
}

Groups merge_for(Schedule schedule, std::span<const ReadyGradient> gradients,
                 const LinearCost& cost) {
  EXPECT(is_merged(schedule));
  return schedule == Schedule::merged ? merge_optimally(gradients, cost)
                                      : merge_greedily(gradients, cost);
}

Groups fuse(std::span<const Bytes> ready, Bytes threshold) {
  Groups groups;
  Bytes message;
  for (const Bytes gradient : ready) {
    message += gradient;
    if (groups.empty() || message > threshold) {
      groups.push_back(0);
      message = gradient;
    }
    ++groups.back();
  }
  return groups;
}

std::vector<Bucket> merged_buckets(std::span<const Bucket> buckets,
                                   std::span<const std::size_t> groups) {
  std::vector<Bucket> merged;
  for (const std::size_t count : groups) {
    EXPECT(count >= 1 && count <= buckets.size());
    Bucket& bucket = merged.emplace_back();
    for (const Bucket& part : buckets.first(count)) {
      bucket.layers.insert(bucket.layers.end(), part.layers.begin(), part.layers.end());
      bucket.elements += part.elements;
    }
    buckets = buckets.subspan(count);
  }
  EXPECT(buckets.empty());
  return merged;
}

std::vector<std::size_t> part_sizes(std::size_t elements, Bytes partition) {
  EXPECT(partition >= 4_B);
  const double most = partition.si() / sizeof(float);
  const std::size_t whole =
      most >= static_cast<double>(elements) ? elements : static_cast<std::size_t>(most);
  std::vector<std::size_t> parts;
  for (std::size_t left = elements; left > 0; left -= parts.back()) {
    parts.push_back(std::min(left, whole));
  }
  return parts;
}

std::vector<Rank> shard_owners(std::span<const Bytes> messages, int servers) {
  EXPECT(servers >= 1);
  std::vector<std::size_t> order(messages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return messages[i]; });
  std::vector<Bytes> held(static_cast<std::size_t>(servers));
  std::vector<Rank> owners(messages.size());
  for (const std::size_t message : order) {
    const auto least = std::ranges::min_element(held);
    *least += messages[message];
    owners[message] = static_cast<Rank>(least - held.begin());
  }
  return owners;
}

}  // namespace dlscale
