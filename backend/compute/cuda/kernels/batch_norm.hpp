#pragma once
#include <cmath>
#include <cstdint>

#include "backend/compute/cuda/kernels/channels.hpp"

namespace dlscale::backend::cuda {

/// Count, mean and sum of squared deviations of some numbers. Moments of parts are combined without
/// loss of digits to a large mean [Chan, Golub, LeVeque 1979].
struct Moments {
  float count;
  float mean;
  float squares;

  DLSCALE_HOST_DEVICE void clear() { count = mean = squares = 0; }
  DLSCALE_HOST_DEVICE void add(const Moments& other) {
    if (other.count == 0) return;
    const float all = count + other.count;
    const float difference = other.mean - mean;
    const float share = other.count / all;
    mean += difference * share;
    squares += other.squares + difference * difference * count * share;
    count = all;
  }
};

/// Moments of x by channel. A thread computes the moments of the elements that it loads together,
/// and merges these into its own.
template <class T, class View>
struct MomentsPart {
  static constexpr int lanes = View::lanes;
  using Sums = Moments;
  struct Running {
    float count;
    float means[lanes];
    float squares[lanes];

    DLSCALE_HOST_DEVICE void clear() {
      count = 0;
      DLSCALE_UNROLL
      for (int i = 0; i < lanes; ++i) means[i] = squares[i] = 0;
    }
    [[nodiscard]] DLSCALE_HOST_DEVICE Moments sums(int lane) const {
      return {count, means[lane], squares[lane]};
    }
  };

  const T* x;

  DLSCALE_HOST_DEVICE void begin(Running& /*running*/, std::uint32_t /*group*/) const {}

  template <int units>
  DLSCALE_HOST_DEVICE void add(Running& running, const std::uint64_t (&offsets)[units]) const {
    constexpr int size = units * View::repeats;  // elements of a channel
    Pack<T, View::width> packs[units];
    DLSCALE_UNROLL
    for (int u = 0; u < units; ++u) packs[u] = load<View::width>(x + offsets[u]);
    const float all = running.count + size;
    const float share = static_cast<float>(size) / all;
    DLSCALE_UNROLL
    for (int lane = 0; lane < lanes; ++lane) {
      float values[size];
      DLSCALE_UNROLL
      for (int i = 0; i < size; ++i) {
        values[i] = to_float(packs[i / View::repeats].values[lane + i % View::repeats]);
      }
      merge(running, lane, share, values);
    }
    running.count = all;
  }

 private:
  template <int size>
  DLSCALE_HOST_DEVICE static void merge(Running& running, int lane, float share,
                                        const float (&values)[size]) {
    float mean = 0;
    DLSCALE_UNROLL
    for (int i = 0; i < size; ++i) mean += values[i];
    mean *= 1.0F / size;
    float squares = 0;
    DLSCALE_UNROLL
    for (int i = 0; i < size; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const float difference = mean - running.means[lane];
    running.means[lane] += difference * share;
    running.squares[lane] += squares + difference * difference * running.count * share;
  }
};

/// Arrays of one number per channel that forward leaves for itself and for backward.
struct BatchNormState {
  float* mean;
  float* inverse;  ///< 1 / sqrt(variance + epsilon)
  float* factor;   ///< scale · inverse

  static std::size_t bytes(std::int64_t channels) {
    return 3 * static_cast<std::size_t>(padded(channels)) * sizeof(float);
  }
  BatchNormState(std::byte* memory, std::int64_t channels)
      : mean(reinterpret_cast<float*>(memory)),
        inverse(mean + padded(channels)),
        factor(inverse + padded(channels)) {}
  /// Padded size, so that every array can be read in packs.
  static std::int64_t padded(std::int64_t channels) { return (channels + 31) / 32 * 32; }
};

struct MomentsFinish {
  BatchNormState state;
  const float* scale;
  float epsilon;

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t channel, const Moments& moments) const {
    const float inverse = 1.0F / std::sqrt(moments.squares / moments.count + epsilon);
    state.mean[channel] = moments.mean;
    state.inverse[channel] = inverse;
    state.factor[channel] = scale[channel] * inverse;
  }
};

/// y = (x - mean) · factor + shift. In this form a large mean costs no digits.
template <class View, Then then>
struct Normalised {
  static constexpr int inputs = 1;
  static constexpr int lanes = View::lanes;
  struct Coefficients {
    float mean[lanes];
    float factor[lanes];
    float shift[lanes];
  };

  BatchNormState state;
  const float* shift;

  [[nodiscard]] DLSCALE_HOST_DEVICE Coefficients coefficients(std::uint32_t group) const {
    Coefficients c;
    load_floats(state.mean + std::uint64_t{group} * lanes, c.mean);
    load_floats(state.factor + std::uint64_t{group} * lanes, c.factor);
    load_floats(shift + std::uint64_t{group} * lanes, c.shift);
    return c;
  }

  DLSCALE_HOST_DEVICE float value(const Coefficients& c, int lane, const float (&x)[1]) const {
    const float y = (x[0] - c.mean[lane]) * c.factor[lane] + c.shift[lane];
    return then == Then::relu && y < 0 ? 0 : y;
  }
};

/// Σ dy and Σ dy · (x - mean).
struct GradientSums {
  float gradient;
  float product;

  DLSCALE_HOST_DEVICE void clear() { gradient = product = 0; }
  DLSCALE_HOST_DEVICE void add(const GradientSums& other) {
    gradient += other.gradient;
    product += other.product;
  }
};

/// dy where a following ReLU let y through. y is recomputed and rounded as in forward.
template <class T, Then then>
struct PassedOn {
  DLSCALE_HOST_DEVICE static float gradient(float dy, float deviation, float factor, float shift) {
    if constexpr (then == Then::nothing) return dy;
    return to_float(from_float<T>(deviation * factor + shift)) > 0 ? dy : 0;
  }
};

template <class T, class View, Then then>
struct GradientPart {
  static constexpr int lanes = View::lanes;
  using Sums = GradientSums;
  struct Running {
    float means[lanes];
    float factors[lanes];
    float shifts[lanes];
    GradientSums totals[lanes];

    DLSCALE_HOST_DEVICE void clear() {
      DLSCALE_UNROLL
      for (int i = 0; i < lanes; ++i) totals[i].clear();
    }
    [[nodiscard]] DLSCALE_HOST_DEVICE GradientSums sums(int lane) const { return totals[lane]; }
  };

  const T* x;
  const T* dy;
  BatchNormState state;
  const float* shift;

  DLSCALE_HOST_DEVICE void begin(Running& running, std::uint32_t group) const {
    load_floats(state.mean + std::uint64_t{group} * lanes, running.means);
    if constexpr (then == Then::relu) {
      load_floats(state.factor + std::uint64_t{group} * lanes, running.factors);
      load_floats(shift + std::uint64_t{group} * lanes, running.shifts);
    }
  }

  template <int units>
  DLSCALE_HOST_DEVICE void add(Running& running, const std::uint64_t (&offsets)[units]) const {
    Pack<T, View::width> inputs[units];
    Pack<T, View::width> gradients[units];
    DLSCALE_UNROLL
    for (int u = 0; u < units; ++u) {
      inputs[u] = load<View::width>(x + offsets[u]);
      gradients[u] = load<View::width>(dy + offsets[u]);
    }
    DLSCALE_UNROLL
    for (int u = 0; u < units; ++u) {
      DLSCALE_UNROLL
      for (int i = 0; i < View::width; ++i) {
        add_element(running, View::lanes == 1 ? 0 : i, to_float(inputs[u].values[i]),
                    to_float(gradients[u].values[i]));
      }
    }
  }

 private:
  DLSCALE_HOST_DEVICE static void add_element(Running& running, int lane, float input,
                                              float gradient) {
    const float deviation = input - running.means[lane];
    float passed = gradient;
    if constexpr (then == Then::relu) {
      passed = PassedOn<T, then>::gradient(gradient, deviation, running.factors[lane],
                                           running.shifts[lane]);
    }
    running.totals[lane].gradient += passed;
    running.totals[lane].product += passed * deviation;
  }
};

/// Writes the gradients of the parameters, and the coefficients of the input gradient:
///   dscale = Σ dy · z,  dshift = Σ dy,  offset = dshift / m,  slope = inverse · dscale / m
struct GradientFinish {
  const float* inverse;
  float* scale_gradient;
  float* shift_gradient;
  float* offset;
  float* slope;
  float elements;  ///< m, the elements of a channel

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t channel, const GradientSums& sums) const {
    const float of_scale = sums.product * inverse[channel];
    scale_gradient[channel] = of_scale;
    shift_gradient[channel] = sums.gradient;
    offset[channel] = sums.gradient / elements;
    slope[channel] = inverse[channel] * of_scale / elements;
  }
};

/// dx = factor · (dy - offset - (x - mean) · slope), with input (x, dy).
template <class T, class View, Then then>
struct InputGradient {
  static constexpr int inputs = 2;
  static constexpr int lanes = View::lanes;
  struct Coefficients {
    float mean[lanes];
    float factor[lanes];
    float offset[lanes];
    float slope[lanes];
    float shift[lanes];  ///< read where a ReLU follows
  };

  BatchNormState state;
  const float* offset;
  const float* slope;
  const float* shift;

  [[nodiscard]] DLSCALE_HOST_DEVICE Coefficients coefficients(std::uint32_t group) const {
    const std::uint64_t first = std::uint64_t{group} * lanes;
    Coefficients c;
    load_floats(state.mean + first, c.mean);
    load_floats(state.factor + first, c.factor);
    load_floats(offset + first, c.offset);
    load_floats(slope + first, c.slope);
    if constexpr (then == Then::relu) load_floats(shift + first, c.shift);
    return c;
  }

  DLSCALE_HOST_DEVICE float value(const Coefficients& c, int lane, const float (&v)[2]) const {
    const float deviation = v[0] - c.mean[lane];
    float gradient = v[1];
    if constexpr (then == Then::relu) {
      gradient = PassedOn<T, then>::gradient(gradient, deviation, c.factor[lane], c.shift[lane]);
    }
    return c.factor[lane] * (gradient - c.offset[lane] - deviation * c.slope[lane]);
  }
};

}  // namespace dlscale::backend::cuda
