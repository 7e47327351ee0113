#pragma once
#include <memory>

#include "backend/compute/compute.hpp"

namespace dlscale::backend::native_device {

/// multiply(), the product that our convolutions run, as a separate MatrixProduct, so that their
/// speed can be compared with that of their products. It is f32, on the calling thread, and takes
/// the products of a batch one after the other. Its matrices are dense; a convolution's may be
/// parts of larger ones, and later blocks of backward_filter add to the result. `threads` are those
/// of the device. Throws Unsupported for several: a convolution then runs several single-threaded
/// products concurrently.
std::unique_ptr<MatrixProduct> make_host_product(const GemmShape& shape, int threads);

}  // namespace dlscale::backend::native_device
