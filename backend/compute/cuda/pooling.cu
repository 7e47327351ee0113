#include "backend/compute/cuda/launch.cuh"
#include "backend/compute/cuda/operations.hpp"
#include "backend/compute/cuda/pooling_operation.hpp"

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
