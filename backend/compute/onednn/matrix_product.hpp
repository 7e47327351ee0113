#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/onednn/context.hpp"

namespace dlscale::backend::onednn_device {

/// The library's primitive matmul on the matrices in place: a transposed operand has other strides.
/// `context` outlives the product. Throws Unsupported, dnnl::error.
std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype);

}  // namespace dlscale::backend::onednn_device
