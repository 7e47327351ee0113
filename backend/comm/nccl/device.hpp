#pragma once
#include "backend/comm/nccl/seats.hpp"

namespace dlscale::backend::gpu_comm {

/// What this process sees. Never throws for want of a GPU: the seat says why there is none.
Seat look_around();

/// Makes `device` the one that this thread's CUDA calls mean. It stays so: going back would open
/// another GPU, on which this rank has no business.
void use_device(int device);

enum class Side { host, device };
/// Where memory lies. Throws ConfigError if it is of a GPU other than `device`. Empty memory is on
/// the host. Makes `device` the thread's.
Side side_of(const void* memory, std::size_t bytes, int device);

}  // namespace dlscale::backend::gpu_comm
