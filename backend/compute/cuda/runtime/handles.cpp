#include "backend/compute/cuda/runtime/handles.hpp"

#include <fmt/format.h>

#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {

void select_device(int device) {
  check(cudaSetDevice(device), "cudaSetDevice", [&] { return fmt::format("GPU {}", device); });
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags",
        "a stream");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate", "an event");
  return Event(event);
}

void record(const Event& event, cudaStream_t stream) {
  check(cudaEventRecord(event.get(), stream), "cudaEventRecord", "an event");
}

Seconds elapsed(const Event& from, const Event& to) {
  check(cudaEventSynchronize(to.get()), "cudaEventSynchronize", "the work before an event");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime",
        "two events");
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "cudaMalloc", fmt::format("{} bytes", bytes));
  data_.reset(static_cast<std::byte*>(data));
}

}  // namespace dlscale::backend::cuda
