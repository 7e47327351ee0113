#include "backend/comm/nccl/call.hpp"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "backend/comm/nccl/result.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

/// Time for the watchdog, which ends this process within a second of a death and names the dead
/// rank. An error of ours would be taken for a failure of this rank, so the rank waits.
constexpr std::chrono::milliseconds word_of_watchdog{2000};

}  // namespace

void check(cudaError_t code, std::string_view call, std::string_view what) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears an error that is not a fault of the device
  if (code == cudaErrorMemoryAllocation && call == "cudaMallocHost") {
    throw ConfigError(fmt::format(
        "{} could not pin memory of the host for {} (pinned memory stays in physical "
        "memory, of which the host, or a limit of this process or its container, "
        "leaves too little). Launch fewer ranks on this host, or give them more memory.",
        call, what));
  }
  if (code == cudaErrorMemoryAllocation) {
    throw ConfigError(
        fmt::format("The GPU has no memory left for {} ({} failed). Stop other programs that use "
                    "it, or measure "
                    "smaller messages.",
                    what, call));
  }
  if (code == cudaErrorDevicesUnavailable) {
    throw ConfigError(fmt::format(
        "{} failed for {}: the GPU is busy, held by another program for itself alone or closed to "
        "all. See nvidia-smi, and start this when the GPU is free.",
        call, what));
  }
  throw LibraryError(fmt::format("{} failed for {} with code {} ({}: {}).", call, what,
                                 static_cast<int>(code), cudaGetErrorName(code),
                                 cudaGetErrorString(code)));
}

void check(ncclResult_t code, std::string_view call, Rank rank, ncclComm_t communicator) {
  if (code == ncclSuccess) return;
  // Before the pause, during which other threads may replace it.
  const char* detail = ncclGetLastError(communicator);
  const Failure failure{std::string(call), static_cast<int>(code), ncclGetErrorString(code),
                        detail == nullptr ? "" : detail, rank};
  if (may_be_a_death(failure.code)) std::this_thread::sleep_for(word_of_watchdog);
  throw error_of(failure);
}

std::string library_name() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion", 0);
  // Coding of NCCL_VERSION in nccl.h for versions after 2.8.
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace dlscale::backend::gpu_comm
