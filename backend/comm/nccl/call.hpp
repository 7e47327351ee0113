#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>
#include <string_view>

#include "backend/comm/nccl/preconditions.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// Throws LibraryError, which names call, code and `what` (a size, a device); ConfigError if memory
/// is full or the GPU is busy.
void check(cudaError_t code, std::string_view call, std::string_view what);

/// Throws LibraryError, which names call, code and rank (see result.hpp), unless `code` is
/// ncclSuccess. If the code may indicate the death of a rank, it first gives the watchdog time to
/// report it.
void check(ncclResult_t code, std::string_view call, Rank rank, ncclComm_t communicator = nullptr);

/// "NCCL 2.28.9"
std::string library_name();

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
