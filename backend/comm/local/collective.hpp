#pragma once
#include <memory>

#include "backend/comm/collective.hpp"
#include "backend/comm/local/group.hpp"

namespace dlscale::backend {

/// A collective among the threads of a group. Ranks are reduced in their order, in the element
/// type, so the result is the same for every run and rank. One that does not block is carried out
/// by the thread that starts it last.
std::unique_ptr<PreparedCollective> prepare_local(std::shared_ptr<Group> group, Rank rank,
                                                  const CollectiveCall& call, Mode mode);

}  // namespace dlscale::backend
