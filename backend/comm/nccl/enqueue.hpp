#pragma once
#include <functional>

#include "backend/comm/nccl/exchange.hpp"
#include "backend/comm/nccl/link.hpp"

namespace dlscale::backend::gpu_comm {

/// Enqueues an exchange on the link's stream.
void enqueue(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to);

/// Runs `calls` between ncclGroupStart and ncclGroupEnd; calls the latter even if `calls` throws.
void in_group(Link& link, const std::function<void()>& calls);

/// NCCL's estimate in microseconds; negative if it has none. Neither run nor simulate anything with
/// `link` afterwards.
float simulate(Link& link, const Exchange& exchange, const std::byte* from, std::byte* to);

}  // namespace dlscale::backend::gpu_comm
