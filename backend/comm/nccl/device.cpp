#include "backend/comm/nccl/device.hpp"

#include <cstring>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

/// Number of visible GPUs; 0 with the reason in `code`.
int visible_gpus(cudaError_t& code) {
  int count = 0;
  code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

}  // namespace

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
