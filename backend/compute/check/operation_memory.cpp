#include "backend/compute/check/operation_memory.hpp"

#include "backend/compute/specification.hpp"

namespace dlscale::backend {

OperationMemory::OperationMemory(ComputeDevice& device, const OperationSpec& spec,
                                 const Operation& operation)
    : device_(&device),
      output_(allocate(operation.output())),
      output_gradient_(allocate(operation.output())),
      state_(allocate(operation.state_bytes())),
      scratch_(allocate(operation.scratch_bytes())),
      kept_(operation.kept_bytes() > 0 ? allocate(operation.kept_bytes()) : nullptr),
      labels_(static_cast<std::size_t>(spec.batch)) {
  for (const TensorDesc& input : spec.inputs) inputs_.push_back(allocate(input));
  for (std::size_t i = 0; i < input_gradient_count(spec.layer); ++i) {
    input_gradients_.push_back(allocate(spec.inputs[i]));
  }
  for (const Parameter& parameter : operation.parameters()) {
    parameters_.push_back(allocate(parameter.value));
    parameter_gradients_.push_back(allocate(parameter.gradient));
  }
}

Operands OperationMemory::operands(std::uint64_t seed, std::uint64_t weights_version) const {
  return {.inputs = inputs_,
          .output = output_,
          .parameters = parameters_,
          .output_gradient = output_gradient_,
          .input_gradients = input_gradients_,
          .parameter_gradients = parameter_gradients_,
          .state = state_,
          .scratch = scratch_,
          .labels = labels_,
          .seed = seed,
          .kept = kept_,
          .weights_version = weights_version};
}

Tensor OperationMemory::allocate(const TensorDesc& desc) {
  return {desc, allocate(desc.layout.bytes)};
}

std::byte* OperationMemory::allocate(std::size_t bytes) {
  buffers_.push_back(device_->allocate(bytes));
  return buffers_.back().get();
}

}  // namespace dlscale::backend
