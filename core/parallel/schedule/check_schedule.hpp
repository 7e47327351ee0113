#pragma once
#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::parallel {

/// Throws ConfigError, which names the rank, the operation and what to do, unless the lists can be
/// run:
/// - Every part of every micro-batch is computed forward and backward once, on one rank, in this
///   order, and after its input has come.
/// - Each tensor that crosses ranks is sent once, after it was made, and received once; receives of
///   a kind from a rank are in the order of its sends.
/// - Each part is reduced after its last backward and then updated, on all ranks that hold it.
///   Ranks that hold several parts in common reduce them in the same order.
/// - With sends of this kind, no rank waits for ever. The lists are run without times, so that
///   the check ends after a number of steps proportional to the operations.
/// At most `most_pieces` (core/parallel/schedule/family.hpp) parts of micro-batches.
void check_schedule(const Schedule& schedule, Delivery delivery);

}  // namespace dlscale::parallel
