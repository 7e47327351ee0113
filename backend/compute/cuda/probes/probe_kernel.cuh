#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {

/// A kernel of the probes: its name and its purpose.
struct ProbeKernel {
  std::string_view name;
  std::string_view what;
  unsigned blocks = 1;
  unsigned threads = 1;  ///< per block
};

/// Enqueues the kernel. It avoids <<<…>>>, after which only the last error of any call can be
/// queried, so that a kernel would be blamed for a library's error.
template <class... Parameters, class... Arguments>
void launch_kernel(cudaStream_t stream, const ProbeKernel& of, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(of.blocks);
  config.blockDim = dim3(of.threads);
  config.stream = stream;
  const cudaError_t code = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (code != cudaSuccess) check(code, "launch of " + std::string(of.name), of.what);
}

// Clocks of the device. A reading is not moved across memory accesses or another reading.

/// Cycle counter of the multiprocessor, low 32 bits: differences below 2^32 are right.
__device__ inline std::uint32_t lap_clock() {
  std::uint32_t cycles = 0;
  asm volatile("mov.u32 %0, %clock;" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ inline std::uint64_t cycle_clock() {
  std::uint64_t cycles = 0;
  asm volatile("mov.u64 %0, %clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

/// Nanosecond clock common to all multiprocessors; it ticks once a microsecond or more often.
__device__ inline std::uint64_t nanosecond_clock() {
  std::uint64_t time = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
  return time;
}

}  // namespace dlscale::backend::cuda
