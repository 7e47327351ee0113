#include "backend/compute/cuda/transforms/spectral.hpp"

#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"

namespace dlscale::backend::cuda::transforms {

std::unique_ptr<const Transforms> spectral_on_device(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass,
                                                     image_tiling::Tiling tiling,
                                                     const MakeFourier& make) {
  const StreamLauncher launcher(context, [what = problem.what] { return what; });
  return make_spectral(launcher, problem, pass, tiling, make);
}

}  // namespace dlscale::backend::cuda::transforms
