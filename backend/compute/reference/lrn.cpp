#include <algorithm>
#include <cmath>

#include "backend/compute/reference/plain_operation.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// Let s_c = k + alpha/size · Σ x_i² over the `size` channels around c (fewer at the ends):
///   y_c = x_c · s_c^-beta
///   dx_c = dy_c · s_c^-beta - 2 · alpha · beta / size · x_c · Σ_i dy_i · x_i · s_i^(-beta-1)
class LrnLoops final : public PlainOperation {
 public:
  LrnLoops(const OperationSpec& spec, const Lrn& kind)
      : PlainOperation(spec),
        kind_(kind),
        images_(spec.batch),
        channels_(spec.layer.output.channels),
        pixels_(Index{spec.layer.output.height} * spec.layer.output.width) {}

 private:
  void forward(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    for_elements([&](Index pixel, Index c) {
      const Index at = pixel + c * pixels_;
      operands.output.as<float>()[at] =
          static_cast<float>(x[at] * std::pow(scale(x + pixel, c), -kind_.beta));
    });
  }

  void backward_data(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    const float* dy = operands.output_gradient.as<float>();
    for_elements([&](Index pixel, Index c) {
      const double coupled = sum_around(c, [&](Index i) {
        const Index at = pixel + i * pixels_;
        return double{dy[at]} * x[at] * std::pow(scale(x + pixel, i), -kind_.beta - 1);
      });
      const Index at = pixel + c * pixels_;
      operands.input_gradients[0].as<float>()[at] =
          static_cast<float>(dy[at] * std::pow(scale(x + pixel, c), -kind_.beta) -
                             2 * kind_.alpha * kind_.beta / kind_.size * x[at] * coupled);
    });
  }

  /// s_c of the pixel whose channel 0 is *x.
  [[nodiscard]] double scale(const float* x, Index c) const {
    const double squares = sum_around(c, [&](Index i) {
      const double value = x[i * pixels_];
      return value * value;
    });
    return kind_.k + kind_.alpha / kind_.size * squares;
  }

  template <class Term>
  [[nodiscard]] double sum_around(Index c, Term term) const {
    const Index half = kind_.size / 2;
    double sum = 0;
    for (Index i = std::max<Index>(c - half, 0); i <= std::min(c + half, channels_ - 1); ++i) {
      sum += term(i);
    }
    return sum;
  }

  /// Calls visit(index of channel 0 of a pixel, channel).
  template <class Visit>
  void for_elements(Visit visit) const {
    for (Index n = 0; n < images_; ++n) {
      for (Index c = 0; c < channels_; ++c) {
        for (Index pixel = 0; pixel < pixels_; ++pixel) visit(n * channels_ * pixels_ + pixel, c);
      }
    }
  }

  Lrn kind_;
  Index images_;
  Index channels_;
  Index pixels_;
};

}  // namespace

std::unique_ptr<Operation> make_lrn(const OperationSpec& spec, const Lrn& kind) {
  return std::make_unique<LrnLoops>(spec, kind);
}

}  // namespace dlscale::backend::reference_loops
