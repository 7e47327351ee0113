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

/// The tensors of a convolution on the device. In a backward pass what the pass makes is the
/// gradient of its place (input of backward_data, weights and bias of backward_filter), and
/// `output` is the gradient of the output.
struct ConvolutionMemory {
  std::byte* input = nullptr;
  std::byte* weights = nullptr;
  std::byte* output = nullptr;
  float* bias = nullptr;  ///< null where the layer has none, and in backward_data
};

/// One way to run one pass of a convolution, with its bias and, forward, its ReLU. In backward
/// passes `output` is what that ReLU lets through.
class ConvolutionPass {
 public:
  virtual ~ConvolutionPass() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Enqueues; `scratch` begins on a multiple of 256 bytes.
  virtual void run(const ConvolutionMemory& memory, std::byte* scratch) = 0;
};

/// A convolution that runs each pass in a given way. `context` must outlive it.
std::unique_ptr<Operation> make_convolution(const Context& context,
                                            const ConvolutionProblem& problem,
                                            std::unique_ptr<ConvolutionPass> forward,
                                            std::unique_ptr<ConvolutionPass> backward_data,
                                            std::unique_ptr<ConvolutionPass> backward_filter);

}  // namespace dlscale::backend::cuda
