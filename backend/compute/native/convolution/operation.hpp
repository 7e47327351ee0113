#pragma once
#include <array>
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/native/convolution/convolution.hpp"

namespace dlscale::backend::native_device {

/// What the specification of a convolution says of its sizes.
ConvolutionShape shape_of(const OperationSpec& spec, const Convolution& kind);

/// The passes of a convolution, by Pass.
using ConvolutionPasses = std::array<std::unique_ptr<ConvolutionPass>, 3>;

/// Whether forward keeps what it makes of the filters (Operands::kept) while they stay the same.
enum class Filters { made_anew, kept };

/// A convolution by our own passes, in plain tensors of `plain`. Inputs in another layout are
/// copied by it first, input gradients afterwards; that belongs to the time of the operation.
/// `plain` must outlive the operation. `threads` ≥ 1: what OpenMP may use for bias and ReLU. Throws
/// Unsupported where there is nothing to keep.
std::unique_ptr<Operation> make_convolution(ComputeDevice& plain, const OperationSpec& spec,
                                            const Convolution& kind, ConvolutionPasses passes,
                                            int threads, Filters filters = Filters::made_anew);

}  // namespace dlscale::backend::native_device
