#pragma once
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::lowering {

/// Maximum bytes of transformed gradients that backward_filter of a fused Winograd convolution
/// holds; the same limit as for spectra of FFT convolutions.
inline constexpr Index gradient_limit_bytes = Index{384} << 20;

/// Bytes that it would hold for one group: for every thread, α² matrices of `outputs` × `inputs`
/// floats, with the padding of Stack.
Index fused_gradient_bytes(Index outputs, Index inputs, Index alpha, int threads);

}  // namespace dlscale::lowering
