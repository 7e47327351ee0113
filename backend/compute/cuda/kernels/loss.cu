#include "backend/compute/cuda/kernels/loss.hpp"

#include "backend/compute/cuda/runtime/launch.cuh"
#include "backend/compute/cuda/runtime/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_loss(const Context& context, const OperationSpec& spec,
                                     const SoftmaxCrossEntropy& kind) {
  return std::make_unique<LossOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                         context.order, kind);
}

}  // namespace dlscale::backend::cuda
