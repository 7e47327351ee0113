#pragma once
#include <cuda_runtime_api.h>

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

}  // namespace dlscale::backend::cuda
