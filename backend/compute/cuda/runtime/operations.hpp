#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Makers of the operations, one per kind of layer. All inputs of `spec` have the order of
/// `context` (device.cpp reorders the others), and so do outputs and weights. `context` outlives
/// the operation. They throw Unsupported for what is not offered.
std::unique_ptr<Operation> make_convolution(const Context& context, const OperationSpec& spec,
                                            const Convolution& kind);
std::unique_ptr<Operation> make_fully_connected(const Context& context, const OperationSpec& spec,
                                                const FullyConnected& kind);
std::unique_ptr<Operation> make_pooling(const Context& context, const OperationSpec& spec,
                                        const Pooling& kind);
std::unique_ptr<Operation> make_relu(const Context& context, const OperationSpec& spec);
std::unique_ptr<Operation> make_lrn(const Context& context, const OperationSpec& spec,
                                    const Lrn& kind);
/// Batch norm, followed by a ReLU where the layer has one.
std::unique_ptr<Operation> make_batch_norm(const Context& context, const OperationSpec& spec,
                                           const BatchNorm& kind);
/// A batch norm and the ReLU that follows it as one operation: output is the ReLU's.
std::unique_ptr<Operation> make_batch_norm_relu(const Context& context, const OperationSpec& spec,
                                                const BatchNorm& kind);
std::unique_ptr<Operation> make_dropout(const Context& context, const OperationSpec& spec,
                                        const Dropout& kind);
std::unique_ptr<Operation> make_concat(const Context& context, const OperationSpec& spec);
std::unique_ptr<Operation> make_sum(const Context& context, const OperationSpec& spec);
std::unique_ptr<Operation> make_loss(const Context& context, const OperationSpec& spec,
                                     const SoftmaxCrossEntropy& kind);

}  // namespace dlscale::backend::cuda
