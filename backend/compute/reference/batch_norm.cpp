#include <cmath>

#include "backend/compute/reference/plain_operation.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// Moments of one channel over all images and pixels; the variance is the mean square deviation.
struct Moments {
  double mean;
  double inverse_deviation;  ///< 1 / sqrt(variance + epsilon)
  [[nodiscard]] double normalise(double x) const { return (x - mean) * inverse_deviation; }
};

/// Let z = (x - mean) / sqrt(variance + epsilon), with m elements a channel [Ioffe, Szegedy 2015]:
///   y = scale · z + shift,  dscale = Σ dy · z,  dshift = Σ dy,
///   dx = scale / sqrt(variance + epsilon) · (dy - dshift / m - z · dscale / m)
class BatchNormLoops final : public PlainOperation {
 public:
  BatchNormLoops(const OperationSpec& spec, const BatchNorm& kind)
      : PlainOperation(spec),
        epsilon_(kind.epsilon),
        images_(spec.batch),
        channels_(spec.layer.output.channels),
        pixels_(Index{spec.layer.output.height} * spec.layer.output.width) {
    add_parameter(ParameterRole::scale, vector_dims(channels_));
    add_parameter(ParameterRole::shift, vector_dims(channels_));
  }

 private:
  void forward(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    for (Index c = 0; c < channels_; ++c) {
      const Moments of_x = moments(x, c);
      const double scale = operands.parameters[0].as<float>()[c];
      const double shift = operands.parameters[1].as<float>()[c];
      for_channel(c, [&](Index i) {
        operands.output.as<float>()[i] = static_cast<float>(scale * of_x.normalise(x[i]) + shift);
      });
    }
  }

  void backward_data(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    const float* dy = operands.output_gradient.as<float>();
    const double m = elements_per_channel();
    for (Index c = 0; c < channels_; ++c) {
      const Moments of_x = moments(x, c);
      const auto z = [&](Index i) { return of_x.normalise(x[i]); };
      double dscale = 0;
      double dshift = 0;
      for_channel(c, [&](Index i) {
        dscale += dy[i] * z(i);
        dshift += dy[i];
      });
      const double factor = operands.parameters[0].as<float>()[c] * of_x.inverse_deviation;
      for_channel(c, [&](Index i) {
        operands.input_gradients[0].as<float>()[i] =
            static_cast<float>(factor * (dy[i] - dshift / m - z(i) * dscale / m));
      });
      operands.parameter_gradients[0].as<float>()[c] = static_cast<float>(dscale);
      operands.parameter_gradients[1].as<float>()[c] = static_cast<float>(dshift);
    }
  }

  [[nodiscard]] Moments moments(const float* x, Index c) const {
    double sum = 0;
    for_channel(c, [&](Index i) { sum += x[i]; });
    const double mean = sum / elements_per_channel();
    double squares = 0;
    for_channel(c, [&](Index i) { squares += (x[i] - mean) * (x[i] - mean); });
    return {mean, 1 / std::sqrt(squares / elements_per_channel() + epsilon_)};
  }

  template <class Visit>
  void for_channel(Index c, Visit visit) const {
    for (Index n = 0; n < images_; ++n) {
      const Index first = (n * channels_ + c) * pixels_;
      for (Index i = first; i < first + pixels_; ++i) visit(i);
    }
  }

  [[nodiscard]] double elements_per_channel() const {
    return static_cast<double>(images_ * pixels_);
  }

  double epsilon_;
  Index images_;
  Index channels_;
  Index pixels_;
};

}  // namespace

std::unique_ptr<Operation> make_batch_norm(const OperationSpec& spec, const BatchNorm& kind) {
  return std::make_unique<BatchNormLoops>(spec, kind);
}

}  // namespace dlscale::backend::reference_loops
