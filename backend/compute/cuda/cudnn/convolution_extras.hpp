#pragma once
#include <cstddef>
#include <string>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/cudnn/graph.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Our kernels around a library's convolution: bias and ReLU where they are not fused, and the bias
/// gradient. They also convert to f32 a weight gradient that the library writes in the operation's
/// precision. Their scratch precedes the library's.
class ConvolutionExtras {
 public:
  /// `form` describes the library's part. `context` must outlive it.
  ConvolutionExtras(const Context& context, const ConvolutionProblem& problem,
                    const GraphForm& form);

  /// The steps of run(), as a suffix: "" or "+bias", "+bias+relu", "+convert+bias".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t scratch_bytes() const { return gradient_bytes_ + sum_bytes_; }
  [[nodiscard]] bool has_low_gradient() const { return gradient_bytes_ > 0; }
  /// Where the library must write the weight gradient.
  [[nodiscard]] static std::byte* low_gradient(std::byte* scratch) { return scratch; }
  /// Enqueues these kernels; call it after the library's pass.
  void run(const ConvolutionMemory& memory, std::byte* scratch) const;

 private:
  const Context* context_;
  TensorDesc output_;
  TensorDesc low_weights_;
  TensorDesc weights_;
  bool add_bias_;
  bool rectify_;
  bool sum_bias_;
  std::size_t gradient_bytes_ = 0;
  std::size_t sum_bytes_ = 0;
};

}  // namespace dlscale::backend::cuda
