#pragma once
#include <functional>
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Whether the pass of a layer needs the values of its inputs.
bool reads_inputs(const LayerKind& kind, Pass pass);

/// Makes an operation by `make` for a spec whose inputs all have the order of `context`. As part of
/// its passes it reorders inputs and input gradients of the other order before and after. It runs
/// on the device of `context`, whatever thread runs it; `context` must outlive it. Throws
/// Unsupported if an input has neither order.
std::unique_ptr<Operation> in_device_order(
    const Context& context, const OperationSpec& spec,
    const std::function<std::unique_ptr<Operation>(const OperationSpec&)>& make);

}  // namespace dlscale::backend::cuda
