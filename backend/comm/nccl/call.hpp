#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>
#include <string_view>

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

}  // namespace dlscale::backend::gpu_comm
