#pragma once
#include <cstdint>

#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// (value / 255 - mean) / deviation of red, green and blue as value · factor + offset.
struct PictureScale {
  float factor[3];
  float offset[3];

  explicit PictureScale(const PictureStatistics& statistics) {
    const auto& [mean, deviation] = statistics;
    for (int c = 0; c < 3; ++c) {
      factor[c] = 1.0F / (255.0F * deviation[c]);
      offset[c] = -mean[c] / deviation[c];
    }
  }
};

/// Converts images of N × H × W × 3 bytes to the tensor of N × 3 × H × W that a network reads. A
/// thread takes `pixels` contiguous pixels: four where an image has a multiple of that.
template <class T, int pixels, Order order>
struct PictureNormalisation {
  const std::uint8_t* from;
  T* to;
  PictureScale scale;
  Divisor image_runs;  ///< runs of `pixels` in an image

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const std::uint64_t first = std::uint64_t{thread} * pixels * 3;
    std::uint8_t bytes[3 * pixels];
    DLSCALE_UNROLL
    for (int i = 0; i < 3; ++i) {
      const Pack<std::uint8_t, pixels> pack = load<pixels>(from + first + std::int64_t{i} * pixels);
      DLSCALE_UNROLL
      for (int k = 0; k < pixels; ++k) bytes[i * pixels + k] = pack.values[k];
    }
    DLSCALE_UNROLL
    for (int i = 0; i < 3; ++i) {
      Pack<T, pixels> pack;
      DLSCALE_UNROLL
      for (int k = 0; k < pixels; ++k) {
        if constexpr (order == Order::nhwc) {
          pack.values[k] = value(bytes[i * pixels + k], (i * pixels + k) % 3);
        } else {
          pack.values[k] = value(bytes[k * 3 + i], i);
        }
      }
      store(pack, to + offset(thread, first, i));
    }
  }

 private:
  DLSCALE_HOST_DEVICE T value(std::uint8_t byte, int channel) const {
    return from_float<T>(static_cast<float>(byte) * scale.factor[channel] + scale.offset[channel]);
  }
  /// Offset of the i-th third of a thread's output; in nchw order this is channel i.
  DLSCALE_HOST_DEVICE std::uint64_t offset(std::uint32_t thread, std::uint64_t first, int i) const {
    if constexpr (order == Order::nhwc) {
      return first + static_cast<std::uint64_t>(i) * pixels;
    } else {
      const auto [image, run] = image_runs.split(thread);
      const std::uint64_t plane = std::uint64_t{image} * 3 + static_cast<std::uint64_t>(i);
      return (plane * image_runs.divisor() + run) * pixels;
    }
  }
};

template <class Launcher>
void launch_normalisation(const Launcher& launcher, const std::uint8_t* pictures,
                          const PictureStatistics& statistics, const Tensor& to) {
  const auto& dims = to.desc.dims;
  EXPECT(dims[1] == 3);
  const std::int64_t pixels = dims[2] * dims[3];
  const bool by_channels = order_of(to.desc) == Order::nhwc;
  const bool by_four = pixels % 4 == 0 && all_aligned({pictures}, 4) && all_aligned({to.data}, 16);
  with_element(to.desc.dtype, [&]<class T>(T) {
    const auto launch = [&]<int run, Order order>() {
      const PictureNormalisation<T, run, order> code{pictures, to.as<T>(), PictureScale(statistics),
                                                     Divisor(pixels / run)};
      launcher.each("normalisation of pictures", code, dims[0] * pixels / run);
    };
    if (by_channels && by_four) return launch.template operator()<4, Order::nhwc>();
    if (by_channels) return launch.template operator()<1, Order::nhwc>();
    if (by_four) return launch.template operator()<4, Order::nchw>();
    launch.template operator()<1, Order::nchw>();
  });
}

}  // namespace dlscale::backend::cuda
