#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Creates the operation of a layer by one implementation.
using MakeOperation = std::function<std::unique_ptr<Operation>()>;

/// Makes the operation of a layer that cuDNN may do as well as our own kernels: average pooling,
/// batch norm, LRN and the loss. One implementation runs both passes, as the state that forward
/// leaves differs. It is the one whose passes together take less time on the device; at equal times
/// it is cuDNN. Ours runs where cuDNN refuses or gives another answer on the same noise. A cuDNN
/// graph runs by the engine setting recommended first: compiling others takes longer than they can
/// save. Layers that do the same work are timed once, by `context.choices`; the choice of an
/// earlier process is recalled.
///
/// Other kinds and layers with a fused ReLU are ours without a trial, and so are:
///   - max pooling: where several elements of a window are the largest, which 16 bits make likely,
///     the gradient is the first one's. cuDNN does not document which gets it, nor that only one
///     does;
///   - ReLU: it reads and writes each element once, which leaves nothing to save, and each shape
///     would take cuDNN about a second a pass to compile.
/// `own` creates our operation. All inputs of `spec` have the order of `context`, which must
/// outlive the operation.
std::unique_ptr<Operation> make_fastest(const Context& context, const OperationSpec& spec,
                                        const MakeOperation& own);

/// The algorithms for one pass of such a layer, or of max pooling or ReLU. They are "own", then the
/// first most_settings that cuDNN recommends for the pass's graph, or its function. With a graph,
/// the other pass runs by the first of its settings that gives a plan.
///
/// Their create() tries them. It throws Unsupported with the reason where cuDNN refuses or memory
/// does not suffice. It also throws where the backward pass of a max pooling breaks ties otherwise
/// than for the first element. This error distinguishes such an algorithm from a wrong one.
///
/// Empty for layers that cuDNN does not have, and for passes that the layer does not have.
/// `context` must outlive the list.
std::vector<Algorithm> layer_algorithms(const Context& context, const OperationSpec& spec,
                                        Pass pass, const MakeOperation& own);

}  // namespace dlscale::backend::cuda
