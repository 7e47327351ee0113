#pragma once
#include <cstddef>
#include <string>

#include "backend/compute/cuda/convolution/convolution_pass.hpp"
#include "backend/compute/cuda/cudnn/graph.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// What kernels of ours add to a library's convolution: bias and ReLU where they are not fused, the
/// bias gradient, and the weight gradient in f32 where the library writes it in the operation's
/// precision. Its scratch comes first.
class ConvolutionExtras {
 public:
  /// `form` says what the library does. `context` must outlive it.
  ConvolutionExtras(const Context& context, const ConvolutionProblem& problem,
                    const GraphForm& form);

  /// "" or "+bias", "+bias+relu", "+convert+bias": what run() does.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t scratch_bytes() const { return gradient_bytes_ + sum_bytes_; }
  [[nodiscard]] bool has_low_gradient() const { return gradient_bytes_ > 0; }
  /// Where the library is to write the weight gradient.
  [[nodiscard]] static std::byte* low_gradient(std::byte* scratch) { return scratch; }
  /// After the library. Enqueues.
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
