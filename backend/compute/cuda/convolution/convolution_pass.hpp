#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/runtime/alignment.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend::cuda {

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
