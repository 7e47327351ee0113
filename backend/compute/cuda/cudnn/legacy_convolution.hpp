#pragma once
#include <memory>
#include <string>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Number of algorithms in cuDNN's API before version 8: 8 forward, 6 for the input gradient, 7 for
/// the weight gradient. They are numbered as in the pass's enumeration. cuDNN 9 still has the
/// functions, but refuses most algorithms on recent GPUs.
int legacy_algorithm_count(Pass pass);

/// Name without its prefix: "IMPLICIT_GEMM", "FFT_TILING", …
std::string legacy_algorithm_name(Pass pass, int algorithm);

/// A pass by such an algorithm, at the precision of the problem, with the bias by our own kernels.
/// Throws Unsupported with cuDNN's reason where it does not offer it.
std::unique_ptr<ConvolutionPass> make_legacy_pass(const Context& context,
                                                  const ConvolutionProblem& problem, Pass pass,
                                                  int algorithm);

}  // namespace dlscale::backend::cuda
