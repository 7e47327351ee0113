#include "bench/gemm/product_memory.hpp"

#include <algorithm>
#include <utility>

namespace dlscale::bench {
namespace {

// Typical of activations and weights; for the time they only need to be normal floating-point
// numbers.
constexpr float a_sigma = 1.0F;
constexpr float b_sigma = 0.05F;

std::vector<float> random_values(const OperandValues& normal, std::int64_t count, float sigma) {
  std::vector<float> values(static_cast<std::size_t>(count));
  normal.fill(values, sigma);
  return values;
}

/// Values that differ from those of A in the same order.
std::vector<float> reversed(std::vector<float> values) {
  std::ranges::reverse(values);
  return values;
}

}  // namespace

ProductMemory::ProductMemory(backend::ComputeDevice& device, const GemmShape& shape, DType dtype,
                             const OperandValues& values, std::size_t scratch_bytes)
    : device_(&device),
      a_(shape.transpose_a ? allocate(shape, shape.k, shape.m, dtype)
                           : allocate(shape, shape.m, shape.k, dtype)),
      b_(shape.transpose_b ? allocate(shape, shape.n, shape.k, dtype)
                           : allocate(shape, shape.k, shape.n, dtype)),
      c_(allocate(shape, shape.m, shape.n, dtype)),
      scratch_(device.allocate(scratch_bytes)) {
  fill(a_, random_values(values, shape.a_elements(), a_sigma));
  fill(b_, reversed(random_values(values, shape.b_elements(), b_sigma)));
}

ProductMemory::Matrices ProductMemory::allocate(const GemmShape& shape, std::int64_t rows,
                                                std::int64_t columns, DType dtype) const {
  const backend::TensorDesc desc = device_->plain({shape.batch, 1, rows, columns}, dtype);
  backend::Buffer buffer = device_->allocate(desc.layout.bytes);
  std::byte* data = buffer.get();
  return {std::move(buffer), {desc, data}};
}

void ProductMemory::fill(const Matrices& matrices, std::vector<float> values) const {
  device_->copy({device_->plain(matrices.tensor.desc.dims, DType::f32),
                 reinterpret_cast<std::byte*>(values.data())},
                matrices.tensor);
  device_->synchronize();
}

std::vector<float> ProductMemory::fetch(const backend::Tensor& tensor) const {
  std::vector<float> values(static_cast<std::size_t>(tensor.desc.elements()));
  device_->copy(tensor, {device_->plain(tensor.desc.dims, DType::f32),
                         reinterpret_cast<std::byte*>(values.data())});
  device_->synchronize();
  return values;
}

}  // namespace dlscale::bench
