#pragma once
#include <cstddef>

#include "backend/comm/collective.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// A collective in NCCL's terms. `count` elements are given by each rank to an all_gather, to each
/// rank in an all_to_all, left on each rank by a reduce_scatter, and the whole message otherwise.
struct Exchange {
  Collective collective = Collective::all_reduce;
  ElementType element = ElementType::f32;
  Reduction op = Reduction::sum;
  std::size_t count = 0;
  Rank root = 0;
};

/// NCCL's exchange for a well-formed call; a broadcast moves bytes, whatever the element type.
/// Throws Unsupported for reduce_scatter and all_to_all in place. NCCL leaves the block of a
/// reduce_scatter at its position in the message, not at the beginning. It cannot do all_to_all in
/// place.
Exchange exchange_of(const CollectiveCall& call, Rank rank, int ranks);

}  // namespace dlscale::backend::gpu_comm
