#include <algorithm>

#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_kernel.cuh"

namespace dlscale::backend::cuda {
namespace {

__global__ void nothing_kernel(std::uint32_t* counter) {
  if (counter != nullptr) atomicAdd(counter, 1U);
}

/// Eight chains of multiply-adds a thread, so that the clock is read rarely. They converge to 2, so
/// nothing is written, which the compiler cannot know.
__global__ void compute_kernel(std::uint64_t nanoseconds, float* sink) {
  constexpr int chains = 8;
  constexpr int rounds = 256;
  float values[chains];
  for (int i = 0; i < chains; ++i) values[i] = static_cast<float>(threadIdx.x + i);
  const std::uint64_t start = nanosecond_clock();
  do {
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int i = 0; i < chains; ++i) values[i] = values[i] * 0.5F + 1.0F;
    }
  } while (nanosecond_clock() - start < nanoseconds);
  float sum = 0;
  for (int i = 0; i < chains; ++i) sum += values[i];
  if (sum < 0) *sink = sum;
}

}  // namespace

void run_nothing(cudaStream_t stream, std::uint32_t* counter) {
  launch_kernel(stream, {"nothing_kernel", "an empty kernel"}, nothing_kernel, counter);
}

void run_compute(cudaStream_t stream, Seconds duration, int multiprocessors, float* sink) {
  constexpr unsigned block = 256;
  const auto nanoseconds = static_cast<std::uint64_t>(std::max(0.0, duration.si() * 1e9));
  const auto blocks = static_cast<unsigned>(multiprocessors);
  launch_kernel(stream, {"compute_kernel", "a kernel beside a copy", blocks, block}, compute_kernel,
                nanoseconds, sink);
}

}  // namespace dlscale::backend::cuda
