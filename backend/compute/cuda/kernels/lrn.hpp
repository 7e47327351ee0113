#pragma once
#include <cstdint>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// Let s_c = k + slope · Σ x_i² over the channels c - half … c + half:
///   y_c = x_c · s_c^-beta
///   dx_c = dy_c · s_c^-beta - 2 · slope · beta · x_c · Σ_i dy_i · x_i · s_i^(-beta-1)
struct LrnShape {
  int half;
  float slope;  ///< alpha / size
  float beta;
  float k;
  int channels;
  std::int64_t pixels;  ///< per image
  std::int64_t images;

  LrnShape(const OperationSpec& spec, const Lrn& kind)
      : half(kind.size / 2),
        slope(static_cast<float>(kind.alpha / kind.size)),
        beta(static_cast<float>(kind.beta)),
        k(static_cast<float>(kind.k)),
        channels(spec.layer.output.channels),
        pixels(std::int64_t{spec.layer.output.height} * spec.layer.output.width),
        images(spec.batch) {}
};

/// A thread takes `run` consecutive channels of a pixel. In nchw order the last run of a pixel may
/// be shorter; in nhwc order it is a pack.
template <class T, int run, Order order>
struct LrnCode {
  LrnShape shape;
  Divisor runs;    ///< per pixel
  Divisor pixels;  ///< per image

  explicit LrnCode(const LrnShape& of)
      : shape(of), runs((of.channels + run - 1) / run), pixels(of.pixels) {}

  [[nodiscard]] std::int64_t threads() const {
    return shape.images * shape.pixels * std::int64_t{runs.divisor()};
  }

  /// Position of a thread: channel c of its pixel is element first + c · step.
  struct Column {
    std::int64_t first;
    std::int64_t step;
    int channel;
  };

  DLSCALE_HOST_DEVICE Column column(std::uint32_t thread) const {
    if constexpr (order == Order::nhwc) {
      const auto [pixel, at] = runs.split(thread);
      return {std::int64_t{pixel} * shape.channels, 1, static_cast<int>(at) * run};
    } else {
      const auto [line, pixel] = pixels.split(thread);
      const auto [image, at] = runs.split(line);
      return {std::int64_t{image} * shape.channels * shape.pixels + pixel, shape.pixels,
              static_cast<int>(at) * run};
    }
  }

  [[nodiscard]] DLSCALE_HOST_DEVICE bool exists(int channel) const {
    return channel >= 0 && channel < shape.channels;
  }

  /// Reads the run's channels and `margin` more at either end; 0 for those that do not exist.
  template <int margin>
  DLSCALE_HOST_DEVICE void read(const T* from, const Column& at,
                                float (&to)[run + 2 * margin]) const {
    DLSCALE_UNROLL
    for (int i = 0; i < run + 2 * margin; ++i) {
      const bool in_pack = order == Order::nhwc && i >= margin && i < margin + run;
      const int channel = at.channel + i - margin;
      if (!in_pack) to[i] = exists(channel) ? value(from, at, channel) : 0;
    }
    if constexpr (order == Order::nhwc) {
      const Pack<T, run> pack = load<run>(from + at.first + at.channel);
      DLSCALE_UNROLL
      for (int i = 0; i < run; ++i) to[margin + i] = to_float(pack.values[i]);
    }
  }

  DLSCALE_HOST_DEVICE void write(const float (&from)[run], const Column& at, T* to) const {
    if constexpr (order == Order::nhwc) {
      Pack<T, run> pack;
      DLSCALE_UNROLL
      for (int i = 0; i < run; ++i) pack.values[i] = from_float<T>(from[i]);
      store(pack, to + at.first + at.channel);
    } else {
      DLSCALE_UNROLL
      for (int i = 0; i < run; ++i) {
        if (!exists(at.channel + i)) continue;
        to[at.first + (at.channel + i) * at.step] = from_float<T>(from[i]);
      }
    }
  }

  DLSCALE_HOST_DEVICE static float value(const T* from, const Column& at, int channel) {
    return to_float(from[at.first + channel * at.step]);
  }

  /// s of the middle of `count` neighbours.
  DLSCALE_HOST_DEVICE float scale(const float* x, int count) const {
    float squares = 0;
    DLSCALE_UNROLL
    for (int i = 0; i < count; ++i) squares += x[i] * x[i];
    return shape.k + shape.slope * squares;
  }

  /// s of any channel, read from memory.
  DLSCALE_HOST_DEVICE float scale_at(const T* x, const Column& at, int channel) const {
    float squares = 0;
    for (int c = channel - shape.half; c <= channel + shape.half; ++c) {
      const float v = exists(c) ? value(x, at, c) : 0;
      squares += v * v;
    }
    return shape.k + shape.slope * squares;
  }
};

/// `half` is the shape's where it is small, so that a window stays in registers; otherwise -1.
template <class T, int run, Order order, int half>
struct LrnForward : LrnCode<T, run, order> {
  const T* x;
  T* y;

  LrnForward(const LrnShape& of, const T* from, T* to)
      : LrnCode<T, run, order>(of), x(from), y(to) {}

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    constexpr int margin = half < 0 ? 0 : half;
    const auto at = this->column(thread);
    float values[run + 2 * margin];
    this->template read<margin>(x, at, values);
    float results[run];
    DLSCALE_UNROLL
    for (int i = 0; i < run; ++i) {
      const float s = half < 0 ? this->scale_at(x, at, at.channel + i)
                               : this->scale(values + i, 2 * margin + 1);
      results[i] = values[margin + i] * power(s, -this->shape.beta);
    }
    this->write(results, at, y);
  }
};

template <class T, int run, Order order, int half>
struct LrnBackward : LrnCode<T, run, order> {
  const T* x;
  const T* dy;
  T* dx;

  LrnBackward(const LrnShape& of, const T* input, const T* gradient, T* to)
      : LrnCode<T, run, order>(of), x(input), dy(gradient), dx(to) {}

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto at = this->column(thread);
    float results[run];
    if constexpr (half < 0) {
      DLSCALE_UNROLL
      for (int i = 0; i < run; ++i) {
        results[i] = this->exists(at.channel + i) ? from_memory(at, at.channel + i) : 0;
      }
    } else {
      from_registers(at, results);
    }
    this->write(results, at, dx);
  }

 private:
  using Base = LrnCode<T, run, order>;
  using Column = typename Base::Column;

  DLSCALE_HOST_DEVICE float result(float input, float gradient, float inverse, float s,
                                   float coupled) const {
    return gradient * inverse * s - 2 * this->shape.slope * this->shape.beta * input * coupled;
  }

  DLSCALE_HOST_DEVICE void from_registers(const Column& at, float (&results)[run]) const {
    constexpr int margin = half < 0 ? 0 : half;
    float inputs[run + 4 * margin];
    float gradients[run + 2 * margin];
    this->template read<2 * margin>(x, at, inputs);
    this->template read<margin>(dy, at, gradients);
    float inverses[run + 2 * margin];  // s^(-beta-1)
    float scales[run + 2 * margin];
    DLSCALE_UNROLL
    for (int i = 0; i < run + 2 * margin; ++i) {
      scales[i] = this->scale(inputs + i, 2 * margin + 1);
      inverses[i] = power(scales[i], -this->shape.beta - 1);
    }
    DLSCALE_UNROLL
    for (int i = 0; i < run; ++i) {
      float coupled = 0;
      DLSCALE_UNROLL
      for (int j = i; j <= i + 2 * margin; ++j) {
        coupled += gradients[j] * inputs[margin + j] * inverses[j];
      }
      results[i] = result(inputs[2 * margin + i], gradients[margin + i], inverses[margin + i],
                          scales[margin + i], coupled);
    }
  }

  DLSCALE_HOST_DEVICE float from_memory(const Column& at, int channel) const {
    float coupled = 0;
    for (int c = channel - this->shape.half; c <= channel + this->shape.half; ++c) {
      if (!this->exists(c)) continue;
      coupled += this->value(dy, at, c) * this->value(x, at, c) *
                 power(this->scale_at(x, at, c), -this->shape.beta - 1);
    }
    const float s = this->scale_at(x, at, channel);
    return result(this->value(x, at, channel), this->value(dy, at, channel),
                  power(s, -this->shape.beta - 1), s, coupled);
  }
};

template <class Launcher>
class LrnOperation final : public OwnOperation {
 public:
  LrnOperation(Launcher launcher, const OperationSpec& spec, Order order, const Lrn& kind)
      : OwnOperation(spec, order, "lrn"), launcher_(std::move(launcher)), shape_(spec, kind) {}

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    with_element(dtype(), [&]<class T>(T) {
      const T* x = operands.inputs[0].template as<const T>();
      if (pass == Pass::forward) {
        T* y = operands.output.template as<T>();
        with_code<T>({x, y}, [&]<int length, Order lies, int half>() {
          const LrnForward<T, length, lies, half> code(shape_, x, y);
          launcher_.each("lrn", code, code.threads());
        });
      } else {
        const T* dy = operands.output_gradient.template as<const T>();
        T* dx = operands.input_gradients[0].template as<T>();
        with_code<T>({x, dy, dx}, [&]<int length, Order lies, int half>() {
          const LrnBackward<T, length, lies, half> code(shape_, x, dy, dx);
          launcher_.each("lrn gradient", code, code.threads());
        });
      }
    });
  }

 private:
  template <class T, class Call>
  void with_code(std::initializer_list<const void*> addresses, const Call& call) const {
    if (order() == Order::nchw) return with_half<4, Order::nchw>(call);
    with_width<T>(shape_.channels, addresses, [&]<int width>(std::integral_constant<int, width>) {
      with_half<width, Order::nhwc>(call);
    });
  }

  template <int length, Order lies, class Call>
  void with_half(const Call& call) const {
    switch (shape_.half) {
      case 1:
        return call.template operator()<length, lies, 1>();
      case 2:
        return call.template operator()<length, lies, 2>();
      default:
        return call.template operator()<length, lies, -1>();
    }
  }

  Launcher launcher_;
  LrnShape shape_;
};

}  // namespace dlscale::backend::cuda
