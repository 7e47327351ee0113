#include "backend/compute/cuda/cudnn/legacy_tensor.hpp"

#include <limits>

#include "backend/compute/cuda/cudnn/graph.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

int legacy_size(std::int64_t size) {
  EXPECT(size <= std::numeric_limits<int>::max());
  return static_cast<int>(size);
}

cudnnTensorFormat_t legacy_format(Order order) {
  return order == Order::nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

LegacyTensor make_legacy_tensor(const Dims& dims, DType dtype, Order order,
                                const std::string& what) {
  cudnnTensorDescriptor_t raw = nullptr;
  check(cudnnCreateTensorDescriptor(&raw), "cudnnCreateTensorDescriptor", what);
  LegacyTensor made(raw);
  check(
      cudnnSetTensor4dDescriptor(raw, legacy_format(order), data_type(dtype), legacy_size(dims[0]),
                                 legacy_size(dims[1]), legacy_size(dims[2]), legacy_size(dims[3])),
      "cudnnSetTensor4dDescriptor", what);
  return made;
}

}  // namespace dlscale::backend::cuda
