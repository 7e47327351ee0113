#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Layers that cuDNN does by functions older than its graphs, which it has not deprecated: no
/// engine takes a whole softmax as a graph, and there are no graphs of LRN.
bool has_function(const LayerKind& kind);

/// The layer by such a function. All inputs of `spec` lie in the order of `context`. What cuDNN
/// does not offer may show only when it runs: Unsupported.
std::unique_ptr<Operation> make_function_operation(const Context& context,
                                                   const OperationSpec& spec);

/// By kind; see make_function_operation().
/// cudnnSoftmaxForward with kernels of ours around it.
std::unique_ptr<Operation> make_softmax_loss(const Context& context, const OperationSpec& spec,
                                             const SoftmaxCrossEntropy& kind);
/// cudnnLRNCrossChannelForward and …Backward.
std::unique_ptr<Operation> make_cudnn_lrn(const Context& context, const OperationSpec& spec,
                                          const Lrn& kind);

}  // namespace dlscale::backend::cuda
