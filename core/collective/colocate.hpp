#pragma once
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// The schedule on its ranks alone: node n moves to rank n mod ranks, like parameter servers that
/// share the machines of workers. A rank keeps the slots of every node that it has, its own first:
/// those of node n begin n / ranks · chunks slots later, in its scratch. Messages between nodes of
/// one rank become copies; two ranks exchange one message in a round. So a closed form for
/// dedicated servers does not apply. Throws std::logic_error for a schedule that has scratch slots
/// or leaves its result outside the message's slots.
Schedule colocated(const Schedule& schedule);

}  // namespace dlscale::collective
