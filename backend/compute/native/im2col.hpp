#pragma once
#include "backend/compute/native/convolution/convolution.hpp"

namespace dlscale::backend::native_device {

/// Explicit im2col and GEMM (Chellapilla, Puri & Simard 2006). The patches of some pixels are
/// written out as a matrix; one matrix product with the weights gives their outputs. Any
/// convolution, all passes. Blocks of pixels limit the matrix to 4 MiB a thread, together with that
/// of the outputs where a block has several images. The limit is 128 columns or a row where that is
/// more.
///
/// Threads share the blocks. The overlapping patches of one image add to the same gradients, so in
/// backward_data one thread does all blocks of an image. Then at most as many threads have work as
/// there are images. Several small images form one block (up to four of 512 × 7 × 7).
extern const ConvolutionAlgorithm im2col;

}  // namespace dlscale::backend::native_device
