#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/kernels/transpose.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"

namespace dlscale::backend::cuda {

void convert(cudaStream_t stream, const Tensor& from, const Tensor& to) {
  const StreamLauncher launcher(
      stream, [&from, &to] { return describe(from.desc) + " to " + describe(to.desc); });
  launch_convert(launcher, from, to);
}

}  // namespace dlscale::backend::cuda
