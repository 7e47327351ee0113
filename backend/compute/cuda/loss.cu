#include "backend/compute/cuda/loss.hpp"

#include "backend/compute/cuda/launch.cuh"
#include "backend/compute/cuda/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_loss(const Context& context, const OperationSpec& spec,
                                     const SoftmaxCrossEntropy& kind) {
  return std::make_unique<LossOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                         context.order, kind);
}

}  // namespace dlscale::backend::cuda
