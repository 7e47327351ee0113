#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/compute/compute.hpp"
#include "backend/compute/specification.hpp"

namespace dlscale::backend::cuda {

/// Order of the elements of all tensors between a device's operations. Data enters as nchw.
enum class Order { nchw, nhwc };

/// A dense N × C × H × W (or O × I × R × S) tensor with its elements in `order`. The layout's name
/// is "nchw" or "nhwc".
TensorDesc tensor_desc(const Dims& dims, DType dtype, Order order);

/// The order that the layout's name denotes. EXPECTs one of ours.
Order order_of(const TensorDesc& desc);

/// Distance between neighbours in N, C, H and W, in elements.
std::array<std::int64_t, 4> strides(const Dims& dims, Order order);

/// Alignment of pieces of scratch and state, in bytes.
constexpr std::size_t scratch_alignment = 256;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}
/// The first aligned address at or after `scratch`.
inline std::byte* first_aligned(std::byte* scratch) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch);
  return scratch + (aligned(address) - address);
}

}  // namespace dlscale::backend::cuda
