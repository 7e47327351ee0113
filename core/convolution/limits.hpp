#pragma once
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::lowering {

/// What backward_filter of a fused Winograd convolution holds of transformed gradients at most: as
/// much as convolutions by FFT hold of spectra.
inline constexpr Index gradient_limit_bytes = Index{384} << 20;

/// What it would hold: α² matrices of `outputs` × `inputs` floats, of a group, for every thread,
/// with the gaps of Stack.
Index fused_gradient_bytes(Index outputs, Index inputs, Index alpha, int threads);

}  // namespace dlscale::lowering
