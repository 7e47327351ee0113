#pragma once

namespace dlscale::backend::cuda {

/// Order of the elements of all tensors between a device's operations. Data enters as nchw.
enum class Order { nchw, nhwc };

}  // namespace dlscale::backend::cuda
