#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/native/convolution/convolution.hpp"
#include "core/network/convolution_shape.hpp"

namespace dlscale::backend::native_device {

// Second passes over the outputs of a convolution, N × K × P × Q in f32: bias and ReLU, by
// `threads` of OpenMP. The result is the same for any number of them.

/// y[n, k, :] += b[k]
void add_bias(const ConvolutionShape& shape, const float* bias, float* y, int threads);

/// y[n, k, :] = max(y[n, k, :] + b[k], 0), without a bias if it is null.
void add_bias_and_rectify(const ConvolutionShape& shape, const float* bias, float* y, int threads);

/// Sets dy to 0 where y is not positive.
void mask_gradient(const ConvolutionShape& shape, const float* y, float* dy, int threads);

/// db[k] = Σ dy[:, k, :]. Each plane is added in 16 sums in f32, the rest in double.
void sum_bias(const ConvolutionShape& shape, const float* dy, float* gradient, int threads);

/// The sizes in the specification of a convolution.
ConvolutionShape shape_of(const OperationSpec& spec, const Convolution& kind);

/// The passes of a convolution, indexed by Pass.
using ConvolutionPasses = std::array<std::unique_ptr<ConvolutionPass>, 3>;

/// Whether forward keeps what it derives from the filters (Operands::kept) while they stay the
/// same.
enum class Filters { made_anew, kept };

/// A convolution by our own passes, on plain tensors of `plain`. It copies inputs of another layout
/// first, and input gradients afterwards, as part of the operation's time. `plain` must outlive the
/// operation. `threads` ≥ 1: the most that OpenMP may use for bias and ReLU. Throws Unsupported
/// where there is nothing to keep.
std::unique_ptr<Operation> make_convolution(ComputeDevice& plain, const OperationSpec& spec,
                                            const Convolution& kind, ConvolutionPasses passes,
                                            int threads, Filters filters = Filters::made_anew);

}  // namespace dlscale::backend::native_device
