#include <algorithm>

#include "backend/compute/random_bits.hpp"
#include "backend/compute/reference/plain_operation.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// y = max(x, 0); dx = dy where x > 0, else 0.
class ReluLoops final : public PlainOperation {
 public:
  explicit ReluLoops(const OperationSpec& spec) : PlainOperation(spec) {}

 private:
  void forward(const Operands& operands) const override {
    const float* x = operands.inputs[0].as<float>();
    for (Index i = 0; i < output().elements(); ++i) {
      operands.output.as<float>()[i] = std::max(x[i], 0.0F);
    }
  }

  void backward_data(const Operands& operands) const override {
    const float* y = operands.output.as<float>();  // positive where x is
    const float* dy = operands.output_gradient.as<float>();
    for (Index i = 0; i < output().elements(); ++i) {
      operands.input_gradients[0].as<float>()[i] = y[i] > 0 ? dy[i] : 0.0F;
    }
  }
};

/// y = x · factor, dx = dy · factor with the factors of DropoutMask.
class DropoutLoops final : public PlainOperation {
 public:
  DropoutLoops(const OperationSpec& spec, const Dropout& kind)
      : PlainOperation(spec), probability_(kind.probability) {}

 private:
  void forward(const Operands& operands) const override {
    apply(operands.seed, operands.inputs[0], operands.output);
  }

  void backward_data(const Operands& operands) const override {
    apply(operands.seed, operands.output_gradient, operands.input_gradients[0]);
  }

  void apply(std::uint64_t seed, const Tensor& from, const Tensor& to) const {
    const DropoutMask mask(probability_, seed);
    for (Index i = 0; i < output().elements(); ++i) {
      to.as<float>()[i] = from.as<float>()[i] * mask.factor(static_cast<std::uint64_t>(i));
    }
  }

  double probability_;
};

/// Concatenates the channels of the inputs, image by image.
class ConcatLoops final : public PlainOperation {
 public:
  explicit ConcatLoops(const OperationSpec& spec) : PlainOperation(spec), images_(spec.batch) {
    for (const ImageShape& shape : spec.layer.input_shapes) sizes_.push_back(shape.elements());
  }

 private:
  void forward(const Operands& operands) const override {
    float* y = operands.output.as<float>();
    for (Index n = 0; n < images_; ++n) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        y = std::copy_n(operands.inputs[i].as<float>() + n * sizes_[i], sizes_[i], y);
      }
    }
  }

  void backward_data(const Operands& operands) const override {
    const float* dy = operands.output_gradient.as<float>();
    for (Index n = 0; n < images_; ++n) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        std::copy_n(dy, sizes_[i], operands.input_gradients[i].as<float>() + n * sizes_[i]);
        dy += sizes_[i];
      }
    }
  }

  Index images_;
  std::vector<Index> sizes_;
};

/// y = Σ inputs. The gradient of each input is the output's, so a plain sum has no backward pass.
/// With a ReLU it has one: it writes one copy of the masked gradient for all inputs.
class SumLoops final : public PlainOperation {
 public:
  explicit SumLoops(const OperationSpec& spec)
      : PlainOperation(spec), has_backward_(spec.layer.relu) {}
  [[nodiscard]] bool has(Pass pass) const override {
    return pass == Pass::forward || (has_backward_ && pass == Pass::backward_data);
  }

 private:
  void forward(const Operands& operands) const override {
    for (Index i = 0; i < output().elements(); ++i) {
      double sum = 0;
      for (const Tensor& input : operands.inputs) sum += input.as<float>()[i];
      operands.output.as<float>()[i] = static_cast<float>(sum);
    }
  }

  void backward_data(const Operands& operands) const override {
    std::copy_n(operands.output_gradient.as<float>(), output().elements(),
                operands.input_gradients[0].as<float>());
  }

  bool has_backward_;
};

}  // namespace

std::unique_ptr<Operation> make_relu(const OperationSpec& spec) {
  return std::make_unique<ReluLoops>(spec);
}

std::unique_ptr<Operation> make_dropout(const OperationSpec& spec, const Dropout& kind) {
  return std::make_unique<DropoutLoops>(spec, kind);
}

std::unique_ptr<Operation> make_concat(const OperationSpec& spec) {
  return std::make_unique<ConcatLoops>(spec);
}

std::unique_ptr<Operation> make_sum(const OperationSpec& spec) {
  return std::make_unique<SumLoops>(spec);
}

}  // namespace dlscale::backend::reference_loops
