#include "backend/compute/cuda/lrn.hpp"

#include "backend/compute/cuda/launch.cuh"
#include "backend/compute/cuda/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_lrn(const Context& context, const OperationSpec& spec,
                                    const Lrn& kind) {
  return std::make_unique<LrnOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                        context.order, kind);
}

}  // namespace dlscale::backend::cuda
