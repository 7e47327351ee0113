#include "backend/compute/cuda/kernels/pooling_operation.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"
#include "backend/compute/cuda/runtime/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_pooling(const Context& context, const OperationSpec& spec,
                                        const Pooling& kind) {
  StreamLauncher launcher(context, spec);
  if (kind.kind == PoolingKind::max) {
    return std::make_unique<MaxPoolingOperation<StreamLauncher>>(std::move(launcher), spec,
                                                                 context.order, kind);
  }
  return std::make_unique<AveragePoolingOperation<StreamLauncher>>(std::move(launcher), spec,
                                                                   context.order, kind);
}

}  // namespace dlscale::backend::cuda
