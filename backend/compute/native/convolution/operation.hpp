#pragma once
#include <array>
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/native/convolution/convolution.hpp"

namespace dlscale::backend::native_device {

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
