#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale {

/// Time of an all-reduce of M bytes, a + b M   [arXiv:1811.11141]. a is the start-up time, which
/// merging two messages saves.
struct LinearCost {
  Seconds a;
  SecondsPerByte b;
  [[nodiscard]] Seconds operator()(Bytes message) const { return a + b * message; }
  bool operator==(const LinearCost&) const = default;
};

/// The least-squares fit with a, b ≥ 0. If all sizes are equal, a and b cannot be separated: then a
/// is 0, so that it does not cause merging. Requires equally many of both, ≥ 1, and sizes > 0.
LinearCost fit_cost(std::span<const Bytes> sizes, std::span<const Seconds> times);

/// A gradient after backward. Lists are in the order in which backward finishes them, so `ready`
/// never decreases.
struct ReadyGradient {
  Seconds ready;  ///< since the start of backward
  Bytes bytes;
};

/// How gradients are merged: message i holds the next groups[i] ≥ 1 gradients of a list. The groups
/// cover the whole list.
using Groups = std::vector<std::size_t>;

/// Arrival time of the last message since the start of backward. Messages travel one by one, each
/// once its last gradient is ready. Zero without gradients.
Seconds last_arrival(std::span<const ReadyGradient> gradients, std::span<const std::size_t> groups,
                     const LinearCost& cost);

/// The published rule of MG-WFBP [HKBU-HPML/MG-WFBP distributed_optimizer.py@5b8ad54,
/// _generate_groups_mgwfbp; arXiv:1912.09268]. From the last layer on, a message that would start
/// at τ and take t is merged into the next gradient, ready at r, under two conditions. First, r < τ
/// + t: it would not have arrived by then. Second, τ > r or r − τ < a: waiting costs less than the
/// start-up saved. It never ends later than single messages; it may end later than the optimum, and
/// than one message.
Groups merge_greedily(std::span<const ReadyGradient> gradients, const LinearCost& cost);

/// The groups whose last message arrives earliest, by dynamic programming over prefixes, in
/// O(L²). Among several, the one with the shortest last messages.
Groups merge_optimally(std::span<const ReadyGradient> gradients, const LinearCost& cost);

/// Merges by the rule of a schedule for which is_merged() holds.
Groups merge_for(Schedule schedule, std::span<const ReadyGradient> gradients,
                 const LinearCost& cost);

/// Horovod's packing of gradients that are ready at a wake-up: in order, each message holds as many
/// as fit into `threshold`; a larger gradient travels alone.
Groups fuse(std::span<const Bytes> ready, Bytes threshold);

/// Merges the buckets of a list by `groups`.
std::vector<Bucket> merged_buckets(std::span<const Bucket> buckets,
                                   std::span<const std::size_t> groups);

/// Elements of the parts into which a gradient of `elements` elements is cut. A part holds whole
/// f32 elements, at most `partition` ≥ 4 B; all but the last are equal.
std::vector<std::size_t> part_sizes(std::size_t elements, Bytes partition);

/// By message: the server, of 0 … servers - 1, that owns its parameters. The largest message goes
/// first, to the server with the fewest bytes, the lowest rank of equals.
std::vector<Rank> shard_owners(std::span<const Bytes> messages, int servers);

}  // namespace dlscale
