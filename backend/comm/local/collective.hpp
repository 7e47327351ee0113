#pragma once
#include <memory>

#include "backend/comm/collective.hpp"
#include "backend/comm/local/group.hpp"

namespace dlscale::backend {

/// A collective among the threads of a group. It reduces in rank order, in the element type, so the
/// result is the same for every run and rank. If it does not block, the thread that starts it last
/// executes it.
std::unique_ptr<PreparedCollective> prepare_local(std::shared_ptr<Group> group, Rank rank,
                                                  const CollectiveCall& call, Mode mode);

}  // namespace dlscale::backend
