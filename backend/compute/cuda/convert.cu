#include "backend/compute/cuda/describe.hpp"
#include "backend/compute/cuda/kernels.hpp"
#include "backend/compute/cuda/launch.cuh"
#include "backend/compute/cuda/transpose.hpp"

namespace dlscale::backend::cuda {

void convert(cudaStream_t stream, const Tensor& from, const Tensor& to) {
  const StreamLauncher launcher(
      stream, [&from, &to] { return describe(from.desc) + " to " + describe(to.desc); });
  launch_convert(launcher, from, to);
}

}  // namespace dlscale::backend::cuda
