#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>
#include <string_view>

#include "core/base/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// Throws LibraryError naming call, code and `what` (a size, a device), ConfigError for memory that
/// is full and a GPU that is busy.
void check(cudaError_t code, std::string_view call, std::string_view what);

/// Throws LibraryError naming call, code and rank (see result.hpp) unless `code` is ncclSuccess.
/// If the code is how a death looks, it first gives the watchdog time to say who died.
void check(ncclResult_t code, std::string_view call, Rank rank, ncclComm_t communicator = nullptr);

/// "NCCL 2.28.9"
std::string library_name();

}  // namespace dlscale::backend::gpu_comm
