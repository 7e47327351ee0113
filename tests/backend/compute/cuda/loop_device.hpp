#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

/// The operations of our own kernels, run by loops on the host: for what the kernels compute to be
/// held against the reference where there is no device. Has no convolutions and fully connected
/// layers, which are the libraries'.
std::unique_ptr<ComputeDevice> make_loop_device(Order order);

/// A batch norm with the ReLU that follows it in the same kernel.
std::unique_ptr<Operation> make_batch_norm_relu_on_loops(const OperationSpec& spec, Order order);

}  // namespace dlscale::backend::cuda
