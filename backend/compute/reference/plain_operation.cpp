#include "backend/compute/reference/plain_operation.hpp"

#include "core/error.hpp"

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
  if (pass == Pass::forward) forward(operands);
  if (pass == Pass::backward_data) backward_data(operands);
  if (pass == Pass::backward_filter) backward_filter(operands);
}

void PlainOperation::add_parameter(ParameterRole role, Dims dims) {
  parameters_.push_back({role, plain_desc(dims), plain_desc(dims)});
}

void PlainOperation::backward_data(const Operands& /*operands*/) const {
  EXPECT(has(Pass::backward_data));
}

void PlainOperation::backward_filter(const Operands& /*operands*/) const {
  EXPECT(has(Pass::backward_filter));
}

}  // namespace dlscale::backend::reference_loops
