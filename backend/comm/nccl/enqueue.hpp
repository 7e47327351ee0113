#pragma once
#include <functional>

#include "backend/comm/nccl/exchange.hpp"
#include "backend/comm/nccl/link.hpp"

namespace dlscale::backend::gpu_comm {

/// Gives an exchange to NCCL.
void enqueue(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to,
             cudaStream_t stream);

/// Between ncclGroupStart and ncclGroupEnd, which is called also when `calls` throws.
void in_group(Link& link, const std::function<void()>& calls);

/// NCCL's estimate in microseconds; negative if it has none. `link` is spent: neither run
/// nor simulate anything with it afterwards.
float simulate(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to);

}  // namespace dlscale::backend::gpu_comm
