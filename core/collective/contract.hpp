#pragma once
#include "core/base/ids.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// Precondition and postcondition of a schedule, for every algorithm of a collective. A block is
/// chunks / p slots; block i of a message is slots [i · chunks / p, (i + 1) · chunks / p).
///
///                   before                          after
///   all_reduce      each rank: its vector           each rank: the sum
///   reduce          each rank: its vector           the root: the sum
///   broadcast       the root: its vector            each rank: the root's vector
///   all_gather      rank r: its block, at block r   each rank: the block of rank i, at block i
///   reduce_scatter  each rank: its vector           rank r: block r of the sum, at block r
///   all_to_all      each rank: its p blocks         rank r: block r of rank i, at block i
///
/// Before: in slots [0, chunks). After: in slots [result, result + chunks). All other slots, and
/// those of helpers, may hold anything before and after; a schedule reads none of them before it
/// has written it.

/// Slots [first, first + count) of a buffer.
struct Slots {
  int first = 0;
  int count = 0;
};

/// The slots of `rank`'s input before the schedule; none for ranks without input.
Slots input(Collective collective, const Schedule& schedule, Rank root, Rank rank);

/// The slots of `rank`'s part of the result afterwards; none for ranks without a result.
Slots output(Collective collective, const Schedule& schedule, Rank root, Rank rank);

}  // namespace dlscale::collective
