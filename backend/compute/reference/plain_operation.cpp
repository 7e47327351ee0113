#include "backend/compute/reference/plain_operation.hpp"

#include <algorithm>
#include <cstdint>

#include "core/base/error.hpp"

namespace dlscale::backend::reference_loops {

TensorDesc plain_desc(Dims dims) {
  TensorDesc desc{.dims = dims, .dtype = DType::f32, .layout = {}};
  desc.layout = {"nchw", static_cast<std::size_t>(desc.elements()) * sizeof(float), nullptr};
  return desc;
}

bool PlainOperation::has(Pass pass) const {
  return pass == Pass::forward || pass == Pass::backward_data;
}

std::string PlainOperation::implementation(Pass pass) const {
  EXPECT(has(pass));
  return "loops";
}

void PlainOperation::run(Pass pass, const Operands& operands) {
  EXPECT(has(pass));
  const bool first_backward =
      pass == (has(Pass::backward_filter) ? Pass::backward_filter : Pass::backward_data);
  if (relu_ && first_backward) mask_gradient(operands);
  if (pass == Pass::forward) forward(operands);
  if (relu_ && pass == Pass::forward) rectify(operands.output);
  if (pass == Pass::backward_data) backward_data(operands);
  if (pass == Pass::backward_filter) backward_filter(operands);
}

void PlainOperation::add_parameter(ParameterRole role, Dims dims) {
  parameters_.push_back({role, plain_desc(dims), plain_desc(dims)});
}

/// y = max(y, 0)
void PlainOperation::rectify(const Tensor& output) const {
  auto* y = output.as<float>();
  for (std::int64_t i = 0; i < output_.elements(); ++i) y[i] = std::max(y[i], 0.0F);
}

/// dy = 0 where y, the output of the ReLU, is not positive.
void PlainOperation::mask_gradient(const Operands& operands) const {
  const auto* y = operands.output.as<float>();
  auto* dy = operands.output_gradient.as<float>();
  for (std::int64_t i = 0; i < output_.elements(); ++i) dy[i] = y[i] > 0 ? dy[i] : 0.0F;
}

void PlainOperation::backward_data(const Operands& /*operands*/) const {
  EXPECT(has(Pass::backward_data));
}

void PlainOperation::backward_filter(const Operands& /*operands*/) const {
  EXPECT(has(Pass::backward_filter));
}

}  // namespace dlscale::backend::reference_loops
