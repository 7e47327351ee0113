#include <algorithm>
#include <cmath>

#include "backend/compute/reference/plain_operation.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// Let p = softmax(x) over the features of an image:
///   y[n] = -log p[label],  dx = loss_weight / N · (p - onehot(label))
class SoftmaxCrossEntropyLoops final : public PlainOperation {
 public:
  SoftmaxCrossEntropyLoops(const OperationSpec& spec, const SoftmaxCrossEntropy& kind)
      : PlainOperation(spec),
        loss_weight_(kind.loss_weight),
        images_(spec.batch),
        classes_(spec.layer.input_shapes.front().elements()) {}

 private:
  void forward(const Operands& operands) const override {
    for (Index n = 0; n < images_; ++n) {
      const float* x = operands.inputs[0].as<float>() + n * classes_;
      operands.output.as<float>()[n] =
          static_cast<float>(log_of_sum_of_exponentials(x) - x[label(operands, n)]);
    }
  }

  void backward_data(const Operands& operands) const override {
    const double factor = loss_weight_ / static_cast<double>(images_);
    for (Index n = 0; n < images_; ++n) {
      const float* x = operands.inputs[0].as<float>() + n * classes_;
      float* dx = operands.input_gradients[0].as<float>() + n * classes_;
      const double log_sum = log_of_sum_of_exponentials(x);
      for (Index c = 0; c < classes_; ++c) {
        const double expected = c == label(operands, n) ? 1 : 0;
        dx[c] = static_cast<float>(factor * (std::exp(x[c] - log_sum) - expected));
      }
    }
  }

  /// Computes relative to the largest element, so that nothing overflows.
  [[nodiscard]] double log_of_sum_of_exponentials(const float* x) const {
    const double largest = *std::max_element(x, x + classes_);
    double sum = 0;
    for (Index c = 0; c < classes_; ++c) sum += std::exp(x[c] - largest);
    return largest + std::log(sum);
  }

  [[nodiscard]] Index label(const Operands& operands, Index n) const {
    EXPECT(operands.labels.size() == static_cast<std::size_t>(images_));
    const Index label = operands.labels[n];
    EXPECT(label >= 0 && label < classes_);
    return label;
  }

  double loss_weight_;
  Index images_;
  Index classes_;
};

}  // namespace

std::unique_ptr<Operation> make_loss(const OperationSpec& spec, const SoftmaxCrossEntropy& kind) {
  return std::make_unique<SoftmaxCrossEntropyLoops>(spec, kind);
}

}  // namespace dlscale::backend::reference_loops
