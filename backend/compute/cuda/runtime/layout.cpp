#include "backend/compute/cuda/runtime/layout.hpp"

#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

TensorDesc tensor_desc(const Dims& dims, DType dtype, Order order) {
  TensorDesc desc{.dims = dims, .dtype = dtype, .layout = {}};
  desc.layout = {order == Order::nchw ? "nchw" : "nhwc",
                 static_cast<std::size_t>(desc.elements()) * element_bytes(dtype), nullptr};
  return desc;
}

Order order_of(const TensorDesc& desc) {
  EXPECT(desc.layout.name == "nchw" || desc.layout.name == "nhwc");
  return desc.layout.name == "nchw" ? Order::nchw : Order::nhwc;
}

std::array<std::int64_t, 4> strides(const Dims& dims, Order order) {
  const auto& [images, channels, height, width] = dims;
  if (order == Order::nchw) return {channels * height * width, height * width, width, 1};
  return {height * width * channels, 1, width * channels, channels};
}

}  // namespace dlscale::backend::cuda
