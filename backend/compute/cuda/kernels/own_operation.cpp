#include "backend/compute/cuda/kernels/own_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 31;

void check_size(const OperationSpec& spec, const TensorDesc& desc) {
  if (desc.elements() < most_elements) return;
  throw Unsupported(
      fmt::format("{}: a tensor has {} elements, and the kernels count to 2^31. "
                  "Choose a smaller batch.",
                  describe(spec), desc.elements()));
}

}  // namespace

OwnOperation::OwnOperation(const OperationSpec& spec, Order order, std::string kernel)
    : kernel_(std::move(kernel)),
      order_(order),
      dtype_(spec.dtype),
      output_(tensor_desc(output_dims(spec), spec.dtype, order)) {
  for (const TensorDesc& input : spec.inputs) {
    EXPECT(order_of(input) == order);
    check_size(spec, input);
  }
  check_size(spec, output_);
}

bool OwnOperation::has(Pass pass) const {
  return pass == Pass::forward || pass == Pass::backward_data;
}

std::string OwnOperation::implementation(Pass pass) const {
  EXPECT(has(pass));
  return "own:" + kernel_;
}

void OwnOperation::add_parameter(ParameterRole role, std::int64_t elements) {
  const TensorDesc desc = tensor_desc(vector_dims(elements), DType::f32, order_);
  parameters_.push_back({role, desc, desc});
}

bool all_aligned(std::initializer_list<const void*> addresses, std::size_t bytes) {
  return std::all_of(addresses.begin(), addresses.end(), [bytes](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
  });
}

}  // namespace dlscale::backend::cuda
