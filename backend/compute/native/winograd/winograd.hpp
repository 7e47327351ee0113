#pragma once
#include "backend/compute/native/convolution/convolution.hpp"

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
/// A larger m needs fewer multiplications but has larger rounding errors. The following are for
/// normally distributed values and 64 to 512 channels, relative to the root mean square of the
/// result. The root mean square error is 2e-7 to 6e-7 for m = 2, 5e-7 to 2e-6 for m = 4, and 2e-6
/// to 6e-6 for m = 6. For m = 6 it is 8e-6 for sums over 2048 channels or 4800 tiles. The largest
/// error of some thousand elements is ten to twenty times that, of a layer's million up to thirty
/// times. For m = 6 the most in the layers of the networks was 1.25e-4; backend::allowed_error() is
/// 2e-4.
///
/// Scratch: the transformed filters of a group (backward_filter: their gradient), and the
/// transformed tiles of one block, about 4 MiB or 144 tiles, whichever is more. Fused, every thread
/// has a block of about 512 KiB or 32 tiles. In backward_filter every thread also has a gradient,
/// of 384 MiB together at most (core/convolution/tile_blocks.hpp). Transformed filters take alpha² / 9
/// of the filters: 1.8 times as much for m = 2, 4 times for 4 and 7.1 times for 6, plus some cache
/// lines between rows. Nothing else bounds them, so 2048 × 2048 filters take 1 GiB for m = 6.
///
/// Fused: a thread takes a small block of tiles through all stages, so that the products read the
/// transforms from its L2 (Z. Jia, A. Zlateski, F. Durand, K. Li, Optimizing N-dimensional,
/// Winograd-based convolution for manycore CPUs, PPoPP 2018; A. Zlateski et al., arXiv:1809.07851).
/// Every block reads the transformed filters again, so it suits few channels on large images.
namespace dlscale::backend::native_device {

extern const ConvolutionAlgorithm winograd_f2;  ///< F(2 × 2, 3 × 3): 2.25 times fewer products
extern const ConvolutionAlgorithm winograd_f4;  ///< F(4 × 4, 3 × 3): 4 times
extern const ConvolutionAlgorithm winograd_f6;  ///< F(6 × 6, 3 × 3): 5.06 times
extern const ConvolutionAlgorithm winograd_f2_fused;
extern const ConvolutionAlgorithm winograd_f4_fused;
extern const ConvolutionAlgorithm winograd_f6_fused;

}  // namespace dlscale::backend::native_device
