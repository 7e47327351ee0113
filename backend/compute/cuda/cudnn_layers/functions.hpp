#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Whether cuDNN runs the layer by a function older than its graphs, which it has not deprecated.
/// No engine takes a whole softmax as a graph, and LRN has no graphs.
bool has_function(const LayerKind& kind);

/// The layer by such a function. All inputs of `spec` have the order of `context`. Throws
/// Unsupported where cuDNN does not offer the layer, possibly only when it runs.
std::unique_ptr<Operation> make_function_operation(const Context& context,
                                                   const OperationSpec& spec);

/// Makers by kind; see make_function_operation(). Softmax: cudnnSoftmaxForward with our kernels
/// around it.
std::unique_ptr<Operation> make_softmax_loss(const Context& context, const OperationSpec& spec,
                                             const SoftmaxCrossEntropy& kind);
/// LRN: cudnnLRNCrossChannelForward and …Backward.
std::unique_ptr<Operation> make_cudnn_lrn(const Context& context, const OperationSpec& spec,
                                          const Lrn& kind);

}  // namespace dlscale::backend::cuda
