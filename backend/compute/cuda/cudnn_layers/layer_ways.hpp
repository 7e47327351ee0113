#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Makes the operation of a layer one way.
using MakeOperation = std::function<std::unique_ptr<Operation>()>;

/// Makes the operation of a layer that cuDNN may do as well as our own kernels: average pooling,
/// batch norm, LRN and the loss. Both passes are run by one of them, as what forward keeps for
/// backward differs: by the one whose passes together take less time on the device, cuDNN where
/// they take the same, and ours where cuDNN refuses or answers otherwise than ours on the same
/// noise. cuDNN's graphs run by the setting of an engine that it recommends first: it takes longer
/// to compile others than they can save. Layers that do the same work are timed once, by
/// `context.choices`; what an earlier process chose is recalled.
///
/// Ours without a trial are other kinds, layers that have taken in a ReLU, and
///   - max pooling: where several elements of a window are the largest, which 16 bits make likely,
///     the gradient is the first one's. cuDNN does not say whose it is there, nor that only one
///     gets it;
///   - ReLU: it reads and writes each element once, which leaves nothing to save, and each shape
///     would take cuDNN about a second a pass to compile.
/// `own` makes ours. All inputs of `spec` lie in the order of `context`, which must outlive the
/// operation.
std::unique_ptr<Operation> make_fastest(const Context& context, const OperationSpec& spec,
                                        const MakeOperation& own);

/// The ways to run a pass of such a layer, max pooling and ReLU among them, apart: "own", then the
/// first most_settings that cuDNN recommends for the pass's graph (the other pass by the first of
/// its settings that gives a plan), or its function. Their create() tries them; it throws
/// Unsupported with the reason where cuDNN refuses, where there is no memory to try them in, or
/// where the backward pass of a max pooling gives the gradient of equal elements to others than the
/// first, which tells it apart from a wrong one.
/// Nothing for layers that cuDNN has not, and for passes that the layer does not have. `context`
/// must outlive the list.
std::vector<Algorithm> layer_algorithms(const Context& context, const OperationSpec& spec,
                                        Pass pass, const MakeOperation& own);

}  // namespace dlscale::backend::cuda
