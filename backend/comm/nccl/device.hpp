#pragma once
#include <string>

#include "backend/comm/nccl/rank_gpu.hpp"

namespace dlscale::backend::gpu_comm {

/// Why this process sees no GPU; empty if it sees one.
std::string why_no_gpu();

/// The GPU of the rank of that number on its node.
RankGpu gpu_of_rank(int local_rank);

/// Makes `device` the one that this thread's CUDA calls mean. It stays so: going back would open
/// another GPU, on which this rank has no business.
void use_device(int device);

enum class Side { host, device };
/// Where memory lies. Throws ConfigError if it is of a GPU other than `device`. Empty memory is on
/// the host. Makes `device` the thread's.
Side side_of(const void* memory, std::size_t bytes, int device);

}  // namespace dlscale::backend::gpu_comm
