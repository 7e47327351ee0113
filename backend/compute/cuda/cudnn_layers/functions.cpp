#include "backend/compute/cuda/cudnn_layers/functions.hpp"

#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

bool has_function(const LayerKind& kind) {
  return std::holds_alternative<SoftmaxCrossEntropy>(kind) || std::holds_alternative<Lrn>(kind);
}

std::unique_ptr<Operation> make_function_operation(const Context& context,
                                                   const OperationSpec& spec) {
  EXPECT(has_function(spec.layer.kind));
  if (const auto* lrn = std::get_if<Lrn>(&spec.layer.kind)) {
    return make_cudnn_lrn(context, spec, *lrn);
  }
  return make_softmax_loss(context, spec, std::get<SoftmaxCrossEntropy>(spec.layer.kind));
}

}  // namespace dlscale::backend::cuda
