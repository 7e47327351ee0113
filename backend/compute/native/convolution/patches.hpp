#pragma once
#include <cstdint>

#include "backend/compute/native/convolution/convolution.hpp"

namespace dlscale::backend::native_device {

/// The patches of an image that the pixels of some output rows see, as a matrix. It has a row for
/// each weight of one output (c, r, s), and a column for each pixel (p, q).
class Patches {
 public:
  /// Patches of `channels` channels from the first one given.
  Patches(const ConvolutionShape& shape, std::int64_t channels)
      : shape_(&shape), channels_(channels) {}
  [[nodiscard]] std::int64_t rows() const {
    return channels_ * shape_->kernel_h * shape_->kernel_w;
  }
  /// Writes columns for output rows [first, last) of `image`, with zeros where a patch crosses the
  /// edge. `stride`: elements between rows of the matrix.
  void gather(const float* image, std::int64_t first, std::int64_t last, float* matrix,
              std::int64_t stride) const;
  /// Adds columns of gradients to the image they were gathered from (col2im).
  void scatter_add(const float* matrix, std::int64_t stride, std::int64_t first, std::int64_t last,
                   float* image) const;

 private:
  const ConvolutionShape* shape_;
  std::int64_t channels_;
};

}  // namespace dlscale::backend::native_device
