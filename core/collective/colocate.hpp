#pragma once
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// The schedule on its ranks alone: node n is on rank n mod ranks, as parameter servers are that
/// share the machines of workers. A rank keeps the slots of every node that it has, its own first:
/// those of node n are n / ranks · chunks slots further, in its scratch. What nodes of one rank
/// send each other is copied there, and what two ranks send each other in a round is one message.
/// So a closed form for servers of their own is not one of this. Throws std::logic_error for a
/// schedule that has scratch slots or leaves its result in others than the message's.
Schedule colocated(const Schedule& schedule);

}  // namespace dlscale::collective
