#include <algorithm>
#include <limits>

#include "backend/compute/reference/plain_operation.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// The part of a window that is inside the image.
struct Window {
  Index top, bottom, left, right;
  [[nodiscard]] double elements() const {
    return static_cast<double>((bottom - top) * (right - left));
  }
};

class PoolingLoops : public PlainOperation {
 public:
  PoolingLoops(const OperationSpec& spec, const Pooling& kind)
      : PlainOperation(spec),
        kind_(kind),
        planes_(Index{spec.batch} * spec.layer.output.channels),
        input_(spec.layer.input_shapes.front()),
        output_(spec.layer.output) {}

 protected:
  /// Calls visit(input plane, output pixel, window) for every pixel of the output.
  template <class Visit>
  void for_windows(Visit visit) const {
    for (Index plane = 0; plane < planes_; ++plane) {
      for (Index p = 0; p < output_.height; ++p) {
        for (Index q = 0; q < output_.width; ++q) {
          visit(plane * input_.height * input_.width,
                (plane * output_.height + p) * output_.width + q, window(p, q));
        }
      }
    }
  }

  /// Calls visit(index in the plane) for every pixel of a window, row by row.
  template <class Visit>
  void for_pixels(const Window& window, Visit visit) const {
    for (Index h = window.top; h < window.bottom; ++h) {
      for (Index w = window.left; w < window.right; ++w) visit(h * input_.width + w);
    }
  }

  [[nodiscard]] Index first_pixel(const Window& window) const {
    return window.top * input_.width + window.left;
  }

  /// Gathers the gradient of the input in double and rounds once.
  template <class Spread>
  void backward(const Operands& operands, Spread spread) const {
    std::vector<double> sums(static_cast<std::size_t>(planes_ * input_.height * input_.width));
    const float* dy = operands.output_gradient.as<float>();
    for_windows([&](Index plane, Index at, const Window& window) {
      spread(sums.data() + plane, plane, window, double{dy[at]});
    });
    std::copy(sums.begin(), sums.end(), operands.input_gradients[0].as<float>());
  }

 private:
  [[nodiscard]] Window window(Index p, Index q) const {
    const Index top = p * kind_.stride - kind_.pad;
    const Index left = q * kind_.stride - kind_.pad;
    return {std::max<Index>(top, 0), std::min<Index>(top + kind_.kernel_h, input_.height),
            std::max<Index>(left, 0), std::min<Index>(left + kind_.kernel_w, input_.width)};
  }

  Pooling kind_;
  Index planes_;
  ImageShape input_;
  ImageShape output_;
};

/// y = the largest element of the window; its gradient goes to the first such element.
class MaxPoolingLoops final : public PoolingLoops {
 public:
  using PoolingLoops::PoolingLoops;

 private:
  void forward(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    for_windows([&](Index plane, Index at, const Window& window) {
      operands.output.as<float>()[at] = x[plane + largest(x + plane, window)];
    });
  }

  void backward_data(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    backward(operands, [&](double* dx, Index plane, const Window& window, double dy) {
      dx[largest(x + plane, window)] += dy;
    });
  }

  [[nodiscard]] Index largest(const float* plane, const Window& window) const {
    Index at = first_pixel(window);
    for_pixels(window, [&](Index i) {
      if (plane[i] > plane[at]) at = i;
    });
    return at;
  }
};

/// y = the mean of the elements of the window that are inside the image.
class AveragePoolingLoops final : public PoolingLoops {
 public:
  using PoolingLoops::PoolingLoops;

 private:
  void forward(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    for_windows([&](Index plane, Index at, const Window& window) {
      double sum = 0;
      for_pixels(window, [&](Index i) { sum += x[plane + i]; });
      operands.output.as<float>()[at] = static_cast<float>(sum / window.elements());
    });
  }

  void backward_data(const Operands& operands) const override {
    backward(operands, [&](double* dx, Index /*plane*/, const Window& window, double dy) {
      for_pixels(window, [&](Index i) { dx[i] += dy / window.elements(); });
    });
  }
};

}  // namespace

std::unique_ptr<Operation> make_pooling(const OperationSpec& spec, const Pooling& kind) {
  if (kind.kind == PoolingKind::max) return std::make_unique<MaxPoolingLoops>(spec, kind);
  return std::make_unique<AveragePoolingLoops>(spec, kind);
}

}  // namespace dlscale::backend::reference_loops
