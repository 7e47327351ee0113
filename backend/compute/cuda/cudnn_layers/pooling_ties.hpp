#pragma once
#include "backend/compute/compute.hpp"

namespace dlscale::backend::cuda {

/// Throws Unsupported unless `other`, which is right where the elements of each window differ,
/// gives the gradient of a max pooling to the elements that `own` gives it to where several are
/// equal and the largest: to the first of them, and to no other. What is wrong with other windows
/// is left to check_operation(). Both are of the layer of `spec`.
void expect_same_ties(ComputeDevice& device, const OperationSpec& spec, Operation& own,
                      Operation& other);

}  // namespace dlscale::backend::cuda
