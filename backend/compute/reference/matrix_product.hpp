#pragma once
#include <memory>

#include "backend/compute/compute.hpp"

namespace dlscale::backend::reference_loops {

/// Plain loops over f32 matrices.
std::unique_ptr<MatrixProduct> make_matrix_product(const GemmShape& shape);

}  // namespace dlscale::backend::reference_loops
