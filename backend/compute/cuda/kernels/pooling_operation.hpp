#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "backend/compute/cuda/kernels/pooling.hpp"

namespace dlscale::backend::cuda {

/// Treats the planes of an nchw tensor as images of one channel.
inline PoolingShape::PoolingShape(const OperationSpec& spec, const Pooling& kind, Order order)
    : kernel_h(kind.kernel_h),
      kernel_w(kind.kernel_w),
      stride(kind.stride),
      pad(kind.pad),
      input_height(spec.layer.input_shapes.front().height),
      input_width(spec.layer.input_shapes.front().width),
      output_height(spec.layer.output.height),
      output_width(spec.layer.output.width),
      images(spec.batch),
      channels(spec.layer.output.channels) {
  if (order == Order::nchw) images *= std::exchange(channels, 1);
}

/// Max pooling keeps the tap of each window's largest element: in a byte, or in four if a window
/// has more than 256.
template <class Launcher>
class MaxPoolingOperation final : public OwnOperation {
 public:
  MaxPoolingOperation(Launcher launcher, const OperationSpec& spec, Order order,
                      const Pooling& kind)
      : OwnOperation(spec, order, "max_pooling"),
        launcher_(std::move(launcher)),
        shape_(spec, kind, order),
        taps_(std::int64_t{kind.kernel_h} * kind.kernel_w) {
    set_state(static_cast<std::size_t>(output().elements()) *
              (taps_ <= 256 ? sizeof(std::uint8_t) : sizeof(std::uint32_t)));
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    with_element(dtype(), [&]<class T>(T) {
      if (taps_ <= 256) {
        run_with<T, std::uint8_t>(pass, operands);
      } else {
        run_with<T, std::uint32_t>(pass, operands);
      }
    });
  }

 private:
  template <class T, class Tap>
  void run_with(Pass pass, const Operands& operands) const {
    auto* taps = reinterpret_cast<Tap*>(operands.state);
    if (pass == Pass::forward) {
      const T* x = operands.inputs[0].template as<const T>();
      T* y = operands.output.template as<T>();
      with_width<T>(shape_.channels, {x, y, taps},
                    [&]<int width>(std::integral_constant<int, width>) {
                      forward<T, Tap, width>(x, y, taps);
                    });
    } else {
      const T* dy = operands.output_gradient.template as<const T>();
      T* dx = operands.input_gradients[0].template as<T>();
      with_width<T>(shape_.channels, {dy, dx, taps},
                    [&]<int width>(std::integral_constant<int, width>) {
                      const MaxBackward<T, Tap, width> code(shape_, dy, taps, dx);
                      launcher_.each("max pooling gradient", code, code.input_threads());
                    });
    }
  }

  template <class T, class Tap, int width>
  void forward(const T* x, T* y, Tap* taps) const {
    const bool square = shape_.kernel_h == shape_.kernel_w;
    if (square && shape_.kernel_h == 2) {
      launch(MaxForward<T, Tap, width, 2>(shape_, x, y, taps));
    } else if (square && shape_.kernel_h == 3) {
      launch(MaxForward<T, Tap, width, 3>(shape_, x, y, taps));
    } else {
      launch(MaxForward<T, Tap, width, 0>(shape_, x, y, taps));
    }
  }

  template <class Code>
  void launch(const Code& code) const {
    launcher_.each("max pooling", code, code.output_threads());
  }

  Launcher launcher_;
  PoolingShape shape_;
  std::int64_t taps_;
};

template <class Launcher>
class AveragePoolingOperation final : public OwnOperation {
 public:
  AveragePoolingOperation(Launcher launcher, const OperationSpec& spec, Order order,
                          const Pooling& kind)
      : OwnOperation(spec, order, "average_pooling"),
        launcher_(std::move(launcher)),
        shape_(spec, kind, order) {}

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    with_element(dtype(), [&]<class T>(T) {
      if (pass == Pass::forward) {
        forward(operands.inputs[0].template as<const T>(), operands.output.template as<T>());
      } else {
        backward(operands.output_gradient.template as<const T>(),
                 operands.input_gradients[0].template as<T>());
      }
    });
  }

 private:
  /// Whether each output is the mean of a whole contiguous plane.
  [[nodiscard]] bool means_of_planes() const {
    return order() == Order::nchw && shape_.output_height == 1 && shape_.output_width == 1 &&
           shape_.pad == 0 && shape_.kernel_h >= shape_.input_height &&
           shape_.kernel_w >= shape_.input_width;
  }

  template <class T>
  void forward(const T* x, T* y) const {
    if (means_of_planes()) {
      const PlaneMeans<T> code{x, y, shape_.images, shape_.input_height * shape_.input_width};
      return launcher_.teams("means of planes", code, code.teams(), 1);
    }
    with_width<T>(shape_.channels, {x, y}, [&]<int width>(std::integral_constant<int, width>) {
      const AverageForward<T, width> code(shape_, x, y);
      launcher_.each("average pooling", code, code.output_threads());
    });
  }

  template <class T>
  void backward(const T* dy, T* dx) const {
    with_width<T>(shape_.channels, {dy, dx}, [&]<int width>(std::integral_constant<int, width>) {
      const AverageBackward<T, width> code(shape_, dy, dx);
      launcher_.each("average pooling gradient", code, code.input_threads());
    });
  }

  Launcher launcher_;
  PoolingShape shape_;
};

}  // namespace dlscale::backend::cuda
