#include "backend/comm/nccl/call.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "backend/comm/nccl/result.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

/// Time for the watchdog, which ends this process within a second of a death and names the dead
/// rank. An error of ours would be taken for a failure of this rank, so the rank waits.
constexpr std::chrono::milliseconds word_of_watchdog{2000};

/// Number of visible GPUs; 0 with the reason in `code`.
int visible_gpus(cudaError_t& code) {
  int count = 0;
  code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

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

std::string why_no_gpu() {
  cudaError_t code = cudaSuccess;
  if (visible_gpus(code) > 0) return "";
  if (code == cudaSuccess || code == cudaErrorNoDevice) {
    return "CUDA finds none (if there is one, CUDA_VISIBLE_DEVICES hides it)";
  }
  if (code == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is absent or older than the CUDA runtime of this build";
  }
  return fmt::format("cudaGetDeviceCount failed with code {} ({})", static_cast<int>(code),
                     cudaGetErrorString(code));
}

RankGpu gpu_of_rank(int local_rank) {
  cudaError_t code = cudaSuccess;
  RankGpu gpu{.device = device_of(local_rank, visible_gpus(code))};
  if (gpu.device < 0) return gpu;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu.device), "cudaGetDeviceProperties",
        fmt::format("GPU {}", gpu.device));
  static_assert(sizeof gpu.uuid == sizeof properties.uuid.bytes);
  std::memcpy(gpu.uuid.data(), properties.uuid.bytes, sizeof gpu.uuid);
  return gpu;
}

void use_device(int device) {
  check(cudaSetDevice(device), "cudaSetDevice", fmt::format("GPU {}", device));
}

Side side_of(const void* memory, std::size_t bytes, int device) {
  if (bytes == 0) return Side::host;
  // Otherwise the query would create a context on the first GPU, which may be another rank's.
  use_device(device);
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes",
        fmt::format("a message of {} bytes", bytes));
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) {
    return Side::host;
  }
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != device) {
    throw ConfigError(
        fmt::format("The data is on GPU {}, but this rank communicates from GPU {}. Compute on the "
                    "GPU of the rank's place on its node.",
                    attributes.device, device));
  }
  return Side::device;
}

}  // namespace dlscale::backend::gpu_comm
