#pragma once
#include <cstdint>

#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda::transforms {

/// A tensor of images, N × channels × height × width in `order`, or of filters.
template <Order order>
struct Images {
  std::int32_t channels;
  std::int32_t height;
  std::int32_t width;

  [[nodiscard]] DLSCALE_HOST_DEVICE std::int64_t offset(std::int32_t n, std::int32_t c,
                                                        std::int32_t h, std::int32_t w) const {
    if constexpr (order == Order::nhwc) {
      return ((std::int64_t{n} * height + h) * width + w) * channels + c;
    } else {
      return ((std::int64_t{n} * channels + c) * height + h) * width + w;
    }
  }
  [[nodiscard]] DLSCALE_HOST_DEVICE bool contain(std::int32_t h, std::int32_t w) const {
    return h >= 0 && h < height && w >= 0 && w < width;
  }
};

}  // namespace dlscale::backend::cuda::transforms
