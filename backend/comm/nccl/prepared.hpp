#pragma once
#include <memory>

#include "backend/comm/collective.hpp"
#include "backend/comm/nccl/link.hpp"

namespace dlscale::backend::gpu_comm {

/// A blocking collective on memory of the link's GPU; `link` outlives it. Throws as exchange_of()
/// does, and Unsupported for another mode.
std::unique_ptr<PreparedCollective> prepare_on(Link& link, const CollectiveCall& call, Mode mode);

}  // namespace dlscale::backend::gpu_comm
