#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_pass.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// The algorithms that cuDNN's API before version 8 numbers, by the numbers of its enumerations for
/// the pass: 8 forward, 6 for the input gradient, 7 for the weight gradient. cuDNN 9 still has the
/// functions, but refuses most algorithms on recent GPUs.
int legacy_algorithm_count(Pass pass);

/// "IMPLICIT_GEMM", "FFT_TILING", …: the name without its prefix.
std::string legacy_algorithm_name(Pass pass, int algorithm);

/// A pass by such an algorithm, at the precision of the problem, with the bias by our own kernels.
/// Throws Unsupported with cuDNN's reason where it does not offer it.
std::unique_ptr<ConvolutionPass> make_legacy_pass(const Context& context,
                                                  const ConvolutionProblem& problem, Pass pass,
                                                  int algorithm);

}  // namespace dlscale::backend::cuda
