#include "backend/compute/cuda/kernels/elementwise.hpp"

#include "backend/compute/cuda/kernels/concat.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"
#include "backend/compute/cuda/runtime/operations.hpp"

namespace dlscale::backend::cuda {

std::unique_ptr<Operation> make_relu(const Context& context, const OperationSpec& spec) {
  return std::make_unique<ReluOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                         context.order);
}

std::unique_ptr<Operation> make_dropout(const Context& context, const OperationSpec& spec,
                                        const Dropout& kind) {
  return std::make_unique<DropoutOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                            context.order, kind);
}

std::unique_ptr<Operation> make_concat(const Context& context, const OperationSpec& spec) {
  return std::make_unique<ConcatOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                           context.order);
}

std::unique_ptr<Operation> make_sum(const Context& context, const OperationSpec& spec) {
  return std::make_unique<SumOperation<StreamLauncher>>(StreamLauncher(context, spec), spec,
                                                        context.order);
}

}  // namespace dlscale::backend::cuda
