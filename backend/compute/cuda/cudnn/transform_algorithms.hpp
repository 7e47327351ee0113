#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"

namespace dlscale::backend::cuda::transforms {

/// A convolution algorithm of our own for GPUs. Its functions throw Unsupported naming the property
/// of the problem that it does not support.
struct TransformAlgorithm {
  std::string_view name;  ///< "winograd_f4": as users write it, after "own "
  /// Floating-point operations of a pass.
  double (*operations)(const ConvolutionProblem& problem, Pass pass);
  /// `context` must outlive the result.
  std::unique_ptr<const Transforms> (*make)(const Context& context,
                                            const ConvolutionProblem& problem, Pass pass);
};

/// All our own algorithms.
std::span<const TransformAlgorithm> transform_algorithms();

/// A pass by such an algorithm, with the bias by our own kernels. Throws Unsupported as
/// TransformAlgorithm does, where a library refuses its part, and if the transformed tensors exceed
/// `most_scratch` bytes, before it searches for the fastest product.
std::unique_ptr<ConvolutionPass> make_transform_pass(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass,
                                                     const TransformAlgorithm& algorithm,
                                                     std::size_t most_scratch = any_scratch);

/// Whether an algorithm may be faster than direct convolution and is therefore tried when the
/// fastest is chosen. It must need fewer operations, below f32 four times fewer: tensor cores
/// multiply faster than memory can supply the transforms.
bool is_candidate(const TransformAlgorithm& algorithm, const ConvolutionProblem& problem,
                  Pass pass);

}  // namespace dlscale::backend::cuda::transforms
