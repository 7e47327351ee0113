#include "backend/compute/cuda/cudnn_layers/layer_trial.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/noise.hpp"
#include "backend/compute/cuda/runtime/recording.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

LayerTrial::LayerTrial(const Context& context, const OperationSpec& spec,
                       const Operation& operation, const WorkingBytes& least)
    : context_(&context), memory_(*context.opened, spec, operation, least) {
  std::uint64_t seed = 0;
  const auto fill = [&](const Tensor& tensor) {
    fill_with_noise(context.stream, tensor.data, tensor.desc.layout.bytes, tensor.desc.dtype,
                    ++seed);
  };
  for (const auto* tensors : {&memory_.inputs(), &memory_.input_gradients(), &memory_.parameters(),
                              &memory_.parameter_gradients()}) {
    std::ranges::for_each(*tensors, fill);
  }
  fill(memory_.output());
  fill(memory_.output_gradient());
  const std::int64_t classes = spec.layer.input_shapes.front().elements();
  std::vector<std::int32_t>& labels = memory_.labels();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % classes);
  }
}

void LayerTrial::run(Operation& operation) const {
  operation.run(Pass::forward, memory_.operands(0));
  operation.run(Pass::backward_data, memory_.operands(0));
}

std::vector<Written> LayerTrial::written() const {
  std::vector<Written> all;
  const auto add = [&](std::string name, const Tensor& tensor) {
    all.push_back({std::move(name), tensor.data, static_cast<std::size_t>(tensor.desc.elements()),
                   tensor.desc.dtype});
  };
  add("output", memory_.output());
  for (const Tensor& each : memory_.input_gradients()) add("input gradient", each);
  for (const Tensor& each : memory_.parameter_gradients()) add("parameter gradient", each);
  return all;
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
