#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Uses the algorithm of cuBLASLt that a trial found fastest. `context` outlives the product.
/// Throws Unsupported where the library offers none.
std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype);

}  // namespace dlscale::backend::cuda
