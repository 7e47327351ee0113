#pragma once
#include <cstddef>
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend {

/// A collective carried out as `schedule` says, round by round, with Communicator::exchange() and
/// combine(). The schedule is one for the collective and root of the call and for the ranks of the
/// communicator, which outlives what is returned. start() does it all; ScheduleRunner knows the
/// other modes. Throws Unsupported for a schedule with nodes that are no ranks, which
/// collective::colocated() puts on ranks, and for a communicator that has no exchange().
std::unique_ptr<PreparedCollective> prepare_schedule(Communicator& ranks,
                                                     const collective::Schedule& schedule,
                                                     const CollectiveCall& call);

/// Throws Unsupported for a schedule with nodes that are no ranks, and std::logic_error unless it
/// and the call are for those ranks.
void expect_made_for(const Communicator& ranks, const collective::Schedule& schedule,
                     const CollectiveCall& call);

/// What a schedule makes of a message of m bytes in elements of `element` bytes: the most that a
/// rank sends to others or receives from them, which is what the link carries, in one of its
/// directions, that carries most; and the operations of the rank that reduces most.
Work busiest_rank(const collective::Schedule& schedule, Bytes m, std::size_t element);

}  // namespace dlscale::backend
