#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale {

/// Time of an all-reduce of M bytes, a + b M (MODEL 2.1): a is its start-up, which is what merging
/// two messages saves.
struct LinearCost {
  Seconds a;
  SecondsPerByte b;
  [[nodiscard]] Seconds operator()(Bytes message) const { return a + b * message; }
  bool operator==(const LinearCost&) const = default;
};

/// The a, b ≥ 0 with the least sum of squared differences. Where all sizes are equal nothing tells
/// a from b: then a is 0, so that nothing is merged for it. Requires equally many of both, ≥ 1, and
/// sizes > 0.
LinearCost fit_cost(std::span<const Bytes> sizes, std::span<const Seconds> times);

/// A gradient as backward leaves it. In lists they stand in the order in which backward finishes
/// them, so `ready` never falls.
struct ReadyGradient {
  Seconds ready;  ///< since the start of backward
  Bytes bytes;
};

/// How gradients are merged: message i holds the next groups[i] ≥ 1 gradients of a list; together
/// all of them.
using Groups = std::vector<std::size_t>;

/// When the last message has arrived, since the start of backward, if they travel one by one, each
/// once its last gradient is ready (1.6). Zero for no gradients.
Seconds last_arrival(std::span<const ReadyGradient> gradients, std::span<const std::size_t> groups,
                     const LinearCost& cost);

/// The rule of MG-WFBP, as published [HKBU-HPML/MG-WFBP distributed_optimizer.py@5b8ad54,
/// _generate_groups_mgwfbp; arXiv:1912.09268]: from the last layer on, a message that would start
/// at τ and take t is merged into the next gradient, ready at r, if r < τ + t (it would not have
/// arrived by then) and (τ > r or r − τ < a) (waiting costs less than the start-up saved). Never
/// ends later than single messages do; may end later than the optimum, and than one message.
Groups merge_greedily(std::span<const ReadyGradient> gradients, const LinearCost& cost);

/// The groups whose last message arrives earliest, by dynamic programming over prefixes (2.3), in
/// O(L²). Of several, that with the shortest last messages.
Groups merge_optimally(std::span<const ReadyGradient> gradients, const LinearCost& cost);

/// By the rule of a schedule that is_merged().
Groups merge_for(Schedule schedule, std::span<const ReadyGradient> gradients,
                 const LinearCost& cost);

/// Horovod's packing of gradients that are ready at a wake-up: in order, each message as many as
/// together are at most `threshold`; a larger gradient travels alone.
Groups fuse(std::span<const Bytes> ready, Bytes threshold);

/// The buckets that `groups` makes of the buckets of a list.
std::vector<Bucket> merged_buckets(std::span<const Bucket> buckets,
                                   std::span<const std::size_t> groups);

/// Elements of the parts into which a gradient of so many is cut: whole elements of f32, at most
/// `partition` ≥ 4 B in each, all but the last as many.
std::vector<std::size_t> part_sizes(std::size_t elements, Bytes partition);

/// By message: the server, of 0 … servers - 1, that owns its parameters. The largest first to the
/// server that has least, of equals to the lowest rank.
std::vector<Rank> shard_owners(std::span<const Bytes> messages, int servers);

}  // namespace dlscale
