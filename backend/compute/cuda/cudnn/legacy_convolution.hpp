#pragma once
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/specification.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend::cuda {

/// Tensor descriptor for the cuDNN functions that predate its graphs.
using LegacyTensor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;

/// `what` it is made for appears in messages. Throws as check() does.
LegacyTensor make_legacy_tensor(const Dims& dims, DType dtype, Order order,
                                const std::string& what);

/// Converts a size to int, which these functions take. EXPECTs that it fits.
int legacy_size(std::int64_t size);

cudnnTensorFormat_t legacy_format(Order order);

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
