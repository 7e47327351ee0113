#pragma once
#include "backend/comm/collective.hpp"
#include "backend/comm/nccl/exchange.hpp"

namespace dlscale::backend::gpu_comm {

/// What NCCL is to do for a call that is well made; a broadcast moves bytes, whatever they are.
/// Throws Unsupported for a reduce_scatter or all_to_all in place: of the one NCCL leaves the block
/// where it lies in the message, not at the beginning, and the other it cannot do.
Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks);

}  // namespace dlscale::backend::gpu_comm
