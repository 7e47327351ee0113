#include "backend/comm/nccl/device.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

std::string why_none(cudaError_t code) {
  if (code == cudaSuccess || code == cudaErrorNoDevice) {
    return "CUDA finds none (if there is one, CUDA_VISIBLE_DEVICES hides it)";
  }
  if (code == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is absent or older than the CUDA runtime of this build";
  }
  return fmt::format("cudaGetDeviceCount failed with code {} ({})", static_cast<int>(code),
                     cudaGetErrorString(code));
}

GpuId id_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties",
        fmt::format("GPU {}", device));
  GpuId id{};
  static_assert(sizeof id == sizeof properties.uuid.bytes);
  std::memcpy(id.data(), properties.uuid.bytes, sizeof id);
  return id;
}

}  // namespace

Seat look_around() {
  Seat seat;
  seat.card = own_card();
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    count = 0;
    static_cast<void>(cudaGetLastError());
  }
  if (count == 0) {
    const std::string reason = why_none(code);
    std::copy_n(reason.data(), std::min(reason.size(), seat.reason.size() - 1),
                seat.reason.begin());
  }
  seat.visible = std::min(count, most_gpus);
  for (int device = 0; device < seat.visible; ++device) {
    seat.gpus.at(static_cast<std::size_t>(device)) = id_of(device);
  }
  return seat;
}

void use_device(int device) {
  check(cudaSetDevice(device), "cudaSetDevice", fmt::format("GPU {}", device));
}

Side side_of(const void* memory, std::size_t bytes, int device) {
  if (bytes == 0) return Side::host;
  use_device(device);  // or the question would open the first GPU, which may be another rank's
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
