#pragma once
#include <cstddef>
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend {

/// A collective that follows `schedule`, round by round, with Communicator::exchange() and
/// combine(). The schedule matches the collective and root of the call and the ranks of the
/// communicator, which outlives the returned object. All work is done by start(); ScheduleRunner
/// offers the other modes. Throws Unsupported for a schedule with nodes that are not ranks, which
/// collective::colocated() puts on ranks, and for a communicator without exchange().
std::unique_ptr<PreparedCollective> prepare_schedule(Communicator& ranks,
                                                     const collective::Schedule& schedule,
                                                     const CollectiveCall& call);

/// Throws Unsupported for a schedule with nodes that are not ranks, and std::logic_error unless it
/// and the call match those ranks.
void expect_made_for(const Communicator& ranks, const collective::Schedule& schedule,
                     const CollectiveCall& call);

/// Work of a schedule for a message of m bytes in elements of `element` bytes. Bytes: the most that
/// a rank sends to others or receives from them, which is the load of the link in its busier
/// direction. Operations: those of the rank that reduces most.
Work busiest_rank(const collective::Schedule& schedule, Bytes m, std::size_t element);

}  // namespace dlscale::backend
