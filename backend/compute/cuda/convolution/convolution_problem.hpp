#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/specification.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend::cuda {

/// A convolution as the libraries take it: N × C × H × W to N × K × P × Q with weights K × C/groups
/// × R × S. All tensors have one order; the gradients of weights and bias are f32.
struct ConvolutionProblem {
  std::string what;  ///< the layer with its shapes, for messages
  Dims input{};
  Dims weights{};
  Dims output{};
  int stride = 1;
  int pad = 0;
  int groups = 1;
  bool bias = false;
  bool relu = false;  ///< Layer::relu
  DType dtype = DType::f32;
  Order order = Order::nhwc;
};

ConvolutionProblem problem_of(const OperationSpec& spec, const Convolution& kind, Order order);

/// The sizes of the convolution alone.
ConvolutionShape shape_of(const ConvolutionProblem& problem);

/// Key that is equal for problems that differ only in `what`.
std::string key_of(const ConvolutionProblem& problem);

struct Context;

/// The tensors of a convolution on the device. In a backward pass `output` is the gradient of the
/// output. The tensor that the pass writes is the gradient of its member: input in backward_data,
/// weights and bias in backward_filter.
struct ConvolutionMemory {
  std::byte* input = nullptr;
  std::byte* weights = nullptr;
  std::byte* output = nullptr;
  float* bias = nullptr;  ///< null where the layer has none, and in backward_data
};

/// One algorithm for one pass of a convolution, including its bias and, forward, its ReLU. In
/// backward passes `output` is the gradient after the ReLU's backward.
class ConvolutionPass {
 public:
  virtual ~ConvolutionPass() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Enqueues the pass; `scratch` begins on a multiple of 256 bytes.
  virtual void run(const ConvolutionMemory& memory, std::byte* scratch) = 0;
};

/// A convolution that runs each pass by the given algorithm. `context` must outlive it.
std::unique_ptr<Operation> make_convolution(const Context& context,
                                            const ConvolutionProblem& problem,
                                            std::unique_ptr<ConvolutionPass> forward,
                                            std::unique_ptr<ConvolutionPass> backward_data,
                                            std::unique_ptr<ConvolutionPass> backward_filter);

}  // namespace dlscale::backend::cuda
