#pragma once
#include "backend/compute/compute.hpp"

namespace dlscale::backend::cuda {

/// Throws Unsupported unless `other` treats ties in a max pooling as `own` does: the first of
/// several equal largest elements, and no other, gets the gradient. `other` must be right where the
/// elements of each window differ; check_operation() finds errors in other windows. Both are of the
/// layer of `spec`.
void expect_same_ties(ComputeDevice& device, const OperationSpec& spec, Operation& own,
                      Operation& other);

}  // namespace dlscale::backend::cuda
