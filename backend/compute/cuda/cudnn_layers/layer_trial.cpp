#include "backend/compute/cuda/cudnn_layers/layer_trial.hpp"

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/recording.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Bytes of 3C are 0.012 as f32 and as bf16, and 1.06 as f16.
constexpr int small_numbers = 0x3C;

}  // namespace

LayerTrial::LayerTrial(const Context& context, const OperationSpec& spec,
                       const Operation& operation, std::size_t state_bytes,
                       std::size_t scratch_bytes)
    : stream_(context.stream), labels_(static_cast<std::size_t>(spec.batch)) {
  for (const TensorDesc& input : spec.inputs) {
    inputs_.push_back(tensor(input));
    input_gradients_.push_back(tensor(input));
  }
  for (const Parameter& parameter : operation.parameters()) {
    parameters_.push_back(tensor(parameter.value));
    parameter_gradients_.push_back(tensor(parameter.gradient));
  }
  output_ = tensor(operation.output());
  output_gradient_ = tensor(operation.output());
  state_ = memory(state_bytes, 0);
  scratch_ = memory(scratch_bytes, 0);
}

Operands LayerTrial::operands() const {
  return {.inputs = inputs_,
          .output = output_,
          .parameters = parameters_,
          .output_gradient = output_gradient_,
          .input_gradients = input_gradients_,
          .parameter_gradients = parameter_gradients_,
          .state = state_,
          .scratch = scratch_,
          .labels = labels_};
}

void LayerTrial::run(Operation& operation) const {
  operation.run(Pass::forward, operands());
  operation.run(Pass::backward_data, operands());
}

void LayerTrial::expect_runs(const Context& context, Operation& operation) const {
  const auto wait = [&] {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize",
          operation.implementation(Pass::forward));
  };
  try {
    run(operation);
    wait();
    static_cast<void>(make_recording(context, [&] { run(operation); }));
  } catch (const LibraryError& error) {
    wait();
    throw Unsupported(error.what());
  }
}

Tensor LayerTrial::tensor(const TensorDesc& desc) {
  return {desc, memory(desc.layout.bytes, small_numbers)};
}

std::byte* LayerTrial::memory(std::size_t bytes, int byte) {
  const DeviceMemory& made = memory_.emplace_back(bytes);
  if (bytes > 0) {
    check(cudaMemsetAsync(made.get(), byte, bytes, stream_), "cudaMemsetAsync",
          "tensors to choose with");
  }
  return made.get();
}

}  // namespace dlscale::backend::cuda
