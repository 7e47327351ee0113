#pragma once
#include <array>
#include <cstdint>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/order.hpp"
#include "backend/compute/specification.hpp"

namespace dlscale::backend::cuda {

/// A dense N × C × H × W (or O × I × R × S) tensor with its elements in `order`. The layout's name
/// is "nchw" or "nhwc".
TensorDesc tensor_desc(const Dims& dims, DType dtype, Order order);

/// The order that the layout's name denotes. EXPECTs one of ours.
Order order_of(const TensorDesc& desc);

/// Distance between neighbours in N, C, H and W, in elements.
std::array<std::int64_t, 4> strides(const Dims& dims, Order order);

}  // namespace dlscale::backend::cuda
