#include "backend/compute/cuda/kernels/lrn.hpp"

#include "backend/compute/cuda/runtime/launch.cuh"
#include "backend/compute/cuda/runtime/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_lrn(const Context& context, const OperationSpec& spec,
                                    const Lrn& kind) {
  return std::make_unique<LrnOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                        context.order, kind);
}

}  // namespace dlscale::backend::cuda
