#pragma once
#include <cstdint>

#include "backend/compute/cuda/kernels/channels.hpp"

namespace dlscale::backend::cuda {

/// y = x + bias, or max(x + bias, 0) if a ReLU follows.
template <class View, Then then>
struct Biased {
  static constexpr int inputs = 1;
  struct Coefficients {
    float bias[View::lanes];
  };

  const float* bias;

  [[nodiscard]] DLSCALE_HOST_DEVICE Coefficients coefficients(std::uint32_t group) const {
    Coefficients c;
    load_floats(bias + std::uint64_t{group} * View::lanes, c.bias);
    return c;
  }
  DLSCALE_HOST_DEVICE float value(const Coefficients& c, int lane, const float (&x)[1]) const {
    const float y = x[0] + c.bias[lane];
    return then == Then::relu && y < 0 ? 0 : y;
  }
};

struct BiasSums {
  float gradient;

  DLSCALE_HOST_DEVICE void clear() { gradient = 0; }
  DLSCALE_HOST_DEVICE void add(const BiasSums& other) { gradient += other.gradient; }
};

template <class T, class View>
struct BiasPart {
  static constexpr int lanes = View::lanes;
  using Sums = BiasSums;
  struct Running {
    float totals[lanes];

    DLSCALE_HOST_DEVICE void clear() {
      DLSCALE_UNROLL
      for (int i = 0; i < lanes; ++i) totals[i] = 0;
    }
    [[nodiscard]] DLSCALE_HOST_DEVICE BiasSums sums(int lane) const { return {totals[lane]}; }
  };

  const T* dy;

  DLSCALE_HOST_DEVICE void begin(Running& /*running*/, std::uint32_t /*group*/) const {}

  template <int units>
  DLSCALE_HOST_DEVICE void add(Running& running, const std::uint64_t (&offsets)[units]) const {
    Pack<T, View::width> packs[units];
    DLSCALE_UNROLL
    for (int u = 0; u < units; ++u) packs[u] = load<View::width>(dy + offsets[u]);
    DLSCALE_UNROLL
    for (int u = 0; u < units; ++u) {
      DLSCALE_UNROLL
      for (int i = 0; i < View::width; ++i) {
        running.totals[View::lanes == 1 ? 0 : i] += to_float(packs[u].values[i]);
      }
    }
  }
};

struct BiasFinish {
  float* gradient;
  DLSCALE_HOST_DEVICE void operator()(std::uint32_t channel, const BiasSums& sums) const {
    gradient[channel] = sums.gradient;
  }
};

template <Then then, class Launcher>
void launch_bias(const Launcher& launcher, const float* bias, const Tensor& tensor) {
  with_element(tensor.desc.dtype, [&]<class T>(T) {
    with_channels<T>(tensor.desc, {bias, tensor.data}, [&]<class View>() {
      ChannelMap<T, View, Biased<View, then>> map(View(tensor.desc.dims), {bias}, tensor.as<T>());
      map.in[0] = tensor.as<const T>();
      launcher.each("bias", map, map.threads());
    });
  });
}

template <class Launcher>
void launch_bias_gradient(const Launcher& launcher, const Tensor& dy, float* gradient,
                          std::byte* scratch) {
  with_element(dy.desc.dtype, [&]<class T>(T) {
    with_channels<T>(dy.desc, {dy.data}, [&]<class View>() {
      const View view(dy.desc.dims);
      launch_sums(launcher, "bias gradient", view, BiasPart<T, View>{dy.as<const T>()},
                  tiling_of(launcher, view), scratch, BiasFinish{gradient});
    });
  });
}

}  // namespace dlscale::backend::cuda
