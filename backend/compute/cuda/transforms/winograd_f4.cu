#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"
#include "backend/compute/cuda/transforms/winograd.hpp"

namespace dlscale::backend::cuda::transforms {

template <>
std::unique_ptr<const Transforms> winograd_on_device<4>(const Context& context,
                                                        const ConvolutionProblem& problem,
                                                        Pass pass) {
  const StreamLauncher launcher(context, [what = problem.what] { return what; });
  return make_winograd<4>(launcher, problem, pass);
}

}  // namespace dlscale::backend::cuda::transforms
