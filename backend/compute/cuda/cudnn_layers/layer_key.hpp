#pragma once
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/order.hpp"

namespace dlscale::backend::cuda {

/// Key that is equal for layers that do the same work, whatever their names; for kinds that cuDNN
/// may do.
std::string layer_key(const OperationSpec& spec, Order order);

}  // namespace dlscale::backend::cuda
