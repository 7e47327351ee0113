#pragma once
#include "backend/comm/collective.hpp"
#include "backend/comm/nccl/exchange.hpp"

namespace dlscale::backend::gpu_comm {

/// NCCL's exchange for a well-formed call; a broadcast moves bytes, whatever the element type.
/// Throws Unsupported for reduce_scatter and all_to_all in place. NCCL leaves the block of a
/// reduce_scatter at its position in the message, not at the beginning. It cannot do all_to_all in
/// place.
Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks);

}  // namespace dlscale::backend::gpu_comm
