#include "backend/compute/cuda/cudnn_layers/graph_parts.hpp"

#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Least alignment of buffers, in bytes.
constexpr std::int64_t tensor_alignment = 16;

}  // namespace

std::size_t GraphParts::keep(Descriptor&& part) {
  part.finalize();
  parts_.push_back(std::move(part));
  return parts_.size() - 1;
}

std::size_t GraphParts::tensor(TensorId id, const Dims& dims, cudnnDataType_t type) {
  return keep(tensor_descriptor(id, dims, type));
}

std::size_t GraphParts::channel_vector(TensorId id, std::int64_t channels) {
  return tensor(id, {1, channels, 1, 1}, CUDNN_DATA_FLOAT);
}

std::size_t GraphParts::host_number(TensorId id) {
  Descriptor part = tensor_descriptor(id, {1, 1, 1, 1}, CUDNN_DATA_FLOAT);
  part.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  return keep(std::move(part));
}

Descriptor GraphParts::tensor_descriptor(TensorId id, const Dims& dims,
                                         cudnnDataType_t type) const {
  const auto strides = cuda::strides(dims, order_);
  Descriptor part = descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  part.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id));
  part.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  part.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, tensor_alignment);
  part.set_list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  part.set_list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, strides);
  return part;
}

}  // namespace dlscale::backend::cuda
