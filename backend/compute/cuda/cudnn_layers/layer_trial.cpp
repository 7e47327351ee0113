#include "backend/compute/cuda/cudnn_layers/layer_trial.hpp"

#include <algorithm>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/recording.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Bytes of 3C are 0.012 as f32 and as bf16, and 1.06 as f16.
constexpr int small_numbers = 0x3C;

}  // namespace

LayerTrial::LayerTrial(const Context& context, const OperationSpec& spec,
                       const Operation& operation, const WorkingBytes& least)
    : context_(&context), memory_(*context.opened, spec, operation, least) {
  const auto fill = [&](const Tensor& tensor) {
    check(cudaMemsetAsync(tensor.data, small_numbers, tensor.desc.layout.bytes, context.stream),
          "cudaMemsetAsync", "tensors to choose with");
  };
  for (const auto* tensors : {&memory_.inputs(), &memory_.input_gradients(), &memory_.parameters(),
                              &memory_.parameter_gradients()}) {
    std::ranges::for_each(*tensors, fill);
  }
  fill(memory_.output());
  fill(memory_.output_gradient());
}

void LayerTrial::run(Operation& operation) const {
  operation.run(Pass::forward, memory_.operands(0));
  operation.run(Pass::backward_data, memory_.operands(0));
}

void LayerTrial::expect_runs(Operation& operation) const {
  const auto wait = [&] {
    check(cudaStreamSynchronize(context_->stream), "cudaStreamSynchronize",
          operation.implementation(Pass::forward));
  };
  try {
    run(operation);
    wait();
    static_cast<void>(make_recording(*context_, [&] { run(operation); }));
  } catch (const LibraryError& error) {
    wait();
    throw Unsupported(error.what());
  }
}

}  // namespace dlscale::backend::cuda
