#include "backend/compute/reference/plain_operation.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// y[n,o] = b[o] + Σ_i w[o,i] · x[n,i] over all channels and pixels i.
class FullyConnectedLoops final : public PlainOperation {
 public:
  FullyConnectedLoops(const OperationSpec& spec, const FullyConnected& kind)
      : PlainOperation(spec),
        kind_(kind),
        images_(spec.batch),
        inputs_(spec.layer.input_shapes.front().elements()) {
    add_parameter(ParameterRole::weight, weight_dims(spec));
    if (kind.bias) add_parameter(ParameterRole::bias, vector_dims(kind.outputs));
  }

  [[nodiscard]] bool has(Pass pass) const override { return pass != Pass::accumulate; }

 private:
  /// Images are the inner loop: each weight is read once, and sums of different images are
  /// independent.
  void forward(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    std::vector<double> sums(static_cast<std::size_t>(images_));
    for (Index o = 0; o < kind_.outputs; ++o) {
      const float* w = operands.parameters[0].as<float>() + o * inputs_;
      sums.assign(sums.size(), kind_.bias ? operands.parameters[1].as<float>()[o] : 0.0F);
      for (Index i = 0; i < inputs_; ++i) {
        for (Index n = 0; n < images_; ++n) sums[n] += double{w[i]} * double{x[n * inputs_ + i]};
      }
      for (Index n = 0; n < images_; ++n) {
        operands.output.as<float>()[n * kind_.outputs + o] = static_cast<float>(sums[n]);
      }
    }
  }

  void backward_data(const Operands& operands) const override {
    std::vector<double> sums(static_cast<std::size_t>(inputs_));
    for (Index n = 0; n < images_; ++n) {
      sums.assign(sums.size(), 0);
      const float* dy = operands.output_gradient.as<float>() + n * kind_.outputs;
      for (Index o = 0; o < kind_.outputs; ++o) {
        const float* w = operands.parameters[0].as<float>() + o * inputs_;
        for (Index i = 0; i < inputs_; ++i) sums[i] += double{dy[o]} * double{w[i]};
      }
      float* dx = operands.input_gradients[0].as<float>() + n * inputs_;
      for (Index i = 0; i < inputs_; ++i) dx[i] = static_cast<float>(sums[i]);
    }
  }

  void backward_filter(const Operands& operands) const override {
    std::vector<double> sums(static_cast<std::size_t>(inputs_));
    for (Index o = 0; o < kind_.outputs; ++o) {
      sums.assign(sums.size(), 0);
      double bias_sum = 0;
      for (Index n = 0; n < images_; ++n) {
        const double dy = operands.output_gradient.as<float>()[n * kind_.outputs + o];
        const float* x = operands.inputs[0].as<float>() + n * inputs_;
        for (Index i = 0; i < inputs_; ++i) sums[i] += dy * double{x[i]};
        bias_sum += dy;
      }
      float* dw = operands.parameter_gradients[0].as<float>() + o * inputs_;
      for (Index i = 0; i < inputs_; ++i) dw[i] = static_cast<float>(sums[i]);
      if (kind_.bias) {
        operands.parameter_gradients[1].as<float>()[o] = static_cast<float>(bias_sum);
      }
    }
  }

  FullyConnected kind_;
  Index images_;
  Index inputs_;
};

}  // namespace

std::unique_ptr<Operation> make_fully_connected(const OperationSpec& spec,
                                                const FullyConnected& kind) {
  return std::make_unique<FullyConnectedLoops>(spec, kind);
}

}  // namespace dlscale::backend::reference_loops
