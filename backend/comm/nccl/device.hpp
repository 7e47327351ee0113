#pragma once
#include <string>

#include "backend/comm/nccl/rank_gpu.hpp"

namespace dlscale::backend::gpu_comm {

/// Why this process sees no GPU; empty if it sees one.
std::string why_no_gpu();

/// The GPU of the rank with that number on its node.
RankGpu gpu_of_rank(int local_rank);

/// Makes `device` the current device of this thread. It is not restored: that would create a
/// context on another GPU, which this rank must not use.
void use_device(int device);

enum class Side { host, device };
/// The side that holds the memory; empty memory is on the host. Makes `device` the current device
/// of the thread. Throws ConfigError if the memory belongs to a GPU other than `device`.
Side side_of(const void* memory, std::size_t bytes, int device);

}  // namespace dlscale::backend::gpu_comm
