#pragma once
#include "backend/compute/native/convolution.hpp"

/// Convolutions by Winograd's minimal filtering, with transforms, products and inverse transforms
/// as separate passes over a block of tiles (A. Lavin and S. Gray, Fast Algorithms for
/// Convolutional Neural Networks, arXiv:1509.09308). Kernel 3 × 3, stride 1, pad 0 to 2, any number
/// of groups.
///
/// A tile of m × m outputs costs alpha² multiplications instead of 9 m², alpha = m + 2:
///   forward          Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A, F(m × m, 3 × 3), summed over C
///   backward_data    the same, of dy with the filters turned by half and pad 2 - pad
///   backward_filter  F(3 × 3, m × m) of x with the tiles of dy as filters, summed over the tiles
///
/// The larger m, the fewer multiplications and the larger the rounding errors. Of normally
/// distributed values, 64 to 512 channels, relative to the root mean square of the result: root
/// mean square 2e-7 to 5e-7 for m = 2, 5e-7 to 2e-6 for m = 4, 2e-6 to 6e-6 for m = 6, at most ten
/// to twenty times that.
///
/// Scratch: the transformed filters (backward_filter: their gradient), and the transformed tiles of
/// one block, about 4 MiB or 144 tiles, whichever is more.
namespace dlscale::backend::native_device {

extern const ConvolutionAlgorithm winograd_f2;  ///< F(2 × 2, 3 × 3): 2.25 times fewer products
extern const ConvolutionAlgorithm winograd_f4;  ///< F(4 × 4, 3 × 3): 4 times
extern const ConvolutionAlgorithm winograd_f6;  ///< F(6 × 6, 3 × 3): 5.06 times

}  // namespace dlscale::backend::native_device
