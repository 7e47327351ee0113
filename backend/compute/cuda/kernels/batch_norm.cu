#include "backend/compute/cuda/kernels/batch_norm_operation.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"
#include "backend/compute/cuda/runtime/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_batch_norm(const Context& context, const OperationSpec& spec,
                                           const BatchNorm& kind) {
  if (spec.layer.relu) return make_batch_norm_relu(context, spec, kind);
  return std::make_unique<BatchNormOperation<StreamLauncher, Then::nothing>>(
      StreamLauncher(context, spec), spec, context.order, kind);
}

}  // namespace dlscale::backend::cuda
