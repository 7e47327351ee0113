#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/compute/cuda/context.hpp"
#include "backend/compute/cuda/handles.hpp"

namespace dlscale::backend::cuda {

/// Memory of the device to run a layer in while a way to do it is chosen. Tensors are filled with
/// small numbers: zeros would cost less power, so that the clock would be another. The state is
/// zero: a forward pass must come before what reads it.
class LayerTrial {
 public:
  /// `operation`: one of the layer's, for its output and its parameters. `spec` has all inputs in
  /// the order of `context`. Throws ConfigError if the memory is not there.
  LayerTrial(const Context& context, const OperationSpec& spec, const Operation& operation,
             std::size_t state_bytes, std::size_t scratch_bytes);

  [[nodiscard]] Operands operands() const;
  /// Enqueues both passes.
  void run(Operation& operation) const;
  /// Runs both passes, waits, and records them as a CUDA graph. Some of what a library does not
  /// offer shows only then, by whatever code: Unsupported with its words, unless the device itself
  /// is broken.
  void expect_runs(const Context& context, Operation& operation) const;

 private:
  Tensor tensor(const TensorDesc& desc);
  std::byte* memory(std::size_t bytes, int byte);

  cudaStream_t stream_;
  std::vector<DeviceMemory> memory_;
  std::vector<std::int32_t> labels_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> input_gradients_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> parameter_gradients_;
  Tensor output_;
  Tensor output_gradient_;
  std::byte* state_;
  std::byte* scratch_;
};

}  // namespace dlscale::backend::cuda
