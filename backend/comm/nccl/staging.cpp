#include "backend/comm/nccl/staging.hpp"

#include <cstring>

#include "backend/comm/nccl/call.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

constexpr const char* purpose = "host data of 4 MiB on its way through the GPU";

}  // namespace

Staging::Staging(Link& link) : link_(link) {
  link_.enter();
  void* memory = nullptr;
  check(cudaMalloc(&memory, capacity), "cudaMalloc", purpose);
  device_ = static_cast<std::byte*>(memory);
  const cudaError_t code = cudaMallocHost(&memory, capacity);
  if (code != cudaSuccess) static_cast<void>(cudaFree(device_));
  check(code, "cudaMallocHost", purpose);
  host_ = static_cast<std::byte*>(memory);
}

Staging::~Staging() {
  static_cast<void>(cudaSetDevice(link_.end().device));
  static_cast<void>(cudaFree(device_));
  static_cast<void>(cudaFreeHost(host_));
}

void Staging::put(std::span<const std::byte> data, std::size_t offset) {
  EXPECT(data.size() + offset <= capacity);
  if (data.empty()) return;
  std::memcpy(host_ + offset, data.data(), data.size());
  check(cudaMemcpyAsync(device_ + offset, host_ + offset, data.size(), cudaMemcpyHostToDevice,
                        link_.stream()),
        "cudaMemcpyAsync", purpose);
}

std::span<const std::byte> Staging::take(std::size_t bytes, std::size_t offset) {
  EXPECT(bytes + offset <= capacity);
  if (bytes > 0) {
    check(cudaMemcpyAsync(host_ + offset, device_ + offset, bytes, cudaMemcpyDeviceToHost,
                          link_.stream()),
          "cudaMemcpyAsync", purpose);
  }
  link_.wait();
  return {host_ + offset, bytes};
}

}  // namespace dlscale::backend::gpu_comm
