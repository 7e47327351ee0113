#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/context.hpp"

namespace dlscale::backend::cuda {

/// Makes the operation of a layer that runs our own kernels.
using MakeOwn = std::function<std::unique_ptr<Operation>()>;

/// Makes the operation of a layer that cuDNN may do as well as our own kernels: pooling, batch
/// norm, ReLU, LRN and the loss. Both passes are run by one of them, as what forward keeps for
/// backward differs: by the one whose passes together take less time on the device, cuDNN where
/// they take the same, and ours where cuDNN refuses. cuDNN's graphs run by the setting of an engine
/// that it recommends first: it takes longer to compile others than they can save. Layers that do
/// the same work are timed once, by `context.choices`. Other kinds, and layers that have taken in a
/// ReLU, are ours.
/// All inputs of `spec` lie in the order of `context`, which must outlive the operation.
std::unique_ptr<Operation> make_fastest(const Context& context, const OperationSpec& spec,
                                        const MakeOwn& own);

/// The ways to run a pass of such a layer, apart: "own", then the first most_settings that cuDNN
/// recommends for the pass's graph (the other pass by what make_fastest() takes), or its function.
/// Their create() throws Unsupported with the reason where cuDNN refuses. Nothing for layers that
/// are always ours, and for passes that the layer does not have. `context` must outlive the list.
std::vector<Algorithm> layer_algorithms(const Context& context, const OperationSpec& spec,
                                        Pass pass, const MakeOwn& own);

}  // namespace dlscale::backend::cuda
