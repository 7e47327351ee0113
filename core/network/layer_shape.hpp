#pragma once
#include <string_view>

#include "core/network/network.hpp"

namespace dlscale {

/// Rules of shapes; only Network uses them.

/// Throws ConfigError if a channel count, height or width is below 1 or implausibly large.
void check_input_shape(std::string_view network, ImageShape input);

/// Checks the fields of `layer.kind` against `layer.input_shapes`, fills in the kernel of global
/// pooling, and sets `layer.output`. Throws ConfigError, which names network, layer and shapes.
///   convolution, floor mode:  out = floor((in + 2 pad - kernel) / stride) + 1
///   pooling in ceil mode:     out = ceil(…) + 1, less one if the last window would start in the
///                             padding beyond the image   [Caffe, PyTorch]
void infer_shape(std::string_view network, Layer& layer);

/// Throws ConfigError "<network>: layer "<name>" <problem>. <advice>"; `advice` ends in a full
/// stop.
[[noreturn]] void refuse_layer(std::string_view network, const Layer& layer,
                               std::string_view problem, std::string_view advice);

}  // namespace dlscale
