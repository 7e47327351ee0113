#include "backend/comm/nccl/staging.hpp"

#include <cstring>

#include "backend/comm/nccl/call.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

constexpr const char* purpose = "host data of 4 MiB on its way through the GPU";

}  // namespace

void Staging::FreeDevice::operator()(std::byte* memory) const noexcept {
  static_cast<void>(cudaFree(memory));
}

void Staging::FreeHost::operator()(std::byte* memory) const noexcept {
  static_cast<void>(cudaFreeHost(memory));
}

Staging::Staging(Link& link) : link_(link) {
  link_.enter();
  void* memory = nullptr;
  check(cudaMalloc(&memory, capacity), "cudaMalloc", purpose);
  device_.reset(static_cast<std::byte*>(memory));
  // meet() reduces the first word before anything was put there.
  check(cudaMemsetAsync(device_.get(), 0, capacity, link_.stream()), "cudaMemsetAsync", purpose);
  check(cudaMallocHost(&memory, capacity), "cudaMallocHost", purpose);
  host_.reset(static_cast<std::byte*>(memory));
}

Staging::~Staging() {
  static_cast<void>(cudaSetDevice(link_.end().device));
}

void Staging::put(std::span<const std::byte> data, std::size_t offset) {
  EXPECT(data.size() + offset <= capacity);
  if (data.empty()) return;
  std::memcpy(host_.get() + offset, data.data(), data.size());
  check(cudaMemcpyAsync(device_.get() + offset, host_.get() + offset, data.size(),
                        cudaMemcpyHostToDevice, link_.stream()),
        "cudaMemcpyAsync", purpose);
}

std::span<const std::byte> Staging::take(std::size_t bytes, std::size_t offset) {
  EXPECT(bytes + offset <= capacity);
  if (bytes > 0) {
    check(cudaMemcpyAsync(host_.get() + offset, device_.get() + offset, bytes,
                          cudaMemcpyDeviceToHost, link_.stream()),
          "cudaMemcpyAsync", purpose);
  }
  link_.wait();
  return {host_.get() + offset, bytes};
}

}  // namespace dlscale::backend::gpu_comm
