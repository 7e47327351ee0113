#pragma once
#include "backend/compute/native/convolution/convolution.hpp"

namespace dlscale::backend::native_device {

/// Explicit im2col and GEMM: the patches of some pixels are written out as a matrix, which one
/// matrix product with the weights turns into the outputs there (Chellapilla, Puri & Simard 2006).
/// Any convolution, all passes. Blocks of pixels keep the matrix, with that of the outputs where a
/// block has several images, at 4 MiB a thread, or at 128 columns or a row where that is more.
///
/// Threads share the blocks. Those of one image, whose patches overlap, add to the same gradients:
/// in backward_data all of them are one thread's, so that no more threads have work than there are
/// images, or blocks of several small ones (one for up to four images of 512 × 7 × 7).
extern const ConvolutionAlgorithm im2col;

}  // namespace dlscale::backend::native_device
