#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "backend/compute/cuda/convolution/convolution_pass.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"

namespace dlscale::backend::cuda::transforms {

/// A convolution algorithm of our own for GPUs. Its functions throw Unsupported that says which
/// property of the problem it is not for.
struct Way {
  std::string_view name;  ///< "winograd_f4": as users write it, after "own "
  /// Floating-point operations of a pass.
  double (*operations)(const ConvolutionProblem& problem, Pass pass);
  /// `context` must outlive what is made.
  std::unique_ptr<const Transforms> (*make)(const Context& context,
                                            const ConvolutionProblem& problem, Pass pass);
};

/// All of them.
std::span<const Way> ways();

/// A pass by such an algorithm, with the bias by our own kernels. Throws Unsupported as Way does,
/// where a library refuses its part, and if what is transformed takes more than `most_scratch`
/// bytes: before the fastest product is looked for.
std::unique_ptr<ConvolutionPass> make_transform_pass(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass,
                                                     const Way& way,
                                                     std::size_t most_scratch = any_scratch);

/// Whether an algorithm may be faster than the definition of the convolution, so that it is tried
/// when the fastest is chosen: it needs fewer operations; below f32, four times fewer, as tensor
/// cores multiply faster than memory can bring transforms to them.
bool is_candidate(const Way& way, const ConvolutionProblem& problem, Pass pass);

}  // namespace dlscale::backend::cuda::transforms
