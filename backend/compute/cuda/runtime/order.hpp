#pragma once

namespace dlscale::backend::cuda {

/// In which order the elements of the tensors between operations lie: one of the two for all of a
/// device. Data enters as nchw.
enum class Order { nchw, nhwc };

}  // namespace dlscale::backend::cuda
