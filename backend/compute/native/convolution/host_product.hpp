#pragma once
#include <memory>

#include "backend/compute/compute.hpp"

namespace dlscale::backend::native_device {

/// The product that our convolutions run, multiply(), apart from them, so that their speed can be
/// put beside that of their products: f32, on the calling thread, of a batch one after the other.
/// Its matrices are dense; those of a convolution may be parts of larger ones, and later blocks of
/// backward_filter are added to what is there. `threads`: of the device. Throws Unsupported for
/// several: a convolution then runs several products beside one another, each on one thread.
std::unique_ptr<MatrixProduct> make_host_product(const GemmShape& shape, int threads);

}  // namespace dlscale::backend::native_device
