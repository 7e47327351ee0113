#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/backend/compute/layer_cases.hpp"

/// The gradients of `reference` against central differences of its own forward pass.
namespace dlscale::backend {
namespace {

/// One operation on `reference`, and the objective Σ r · y with fixed random r, of which the
/// gradient is checked. For a loss the objective is what training minimises.
class Slope {
 public:
  explicit Slope(const Case& layer_case)
      : device_(family<ComputeBackend>().find("reference")->open({})),
        spec_(plain_spec(*device_, layer_case.layer(), 2, DType::f32)),
        operation_(device_->create(spec_)),
        memory_(*device_, spec_, *operation_) {
    unsigned seed = 0;
    for (const Tensor& tensor : memory_.inputs()) fill(tensor, ++seed);
    for (const Tensor& tensor : memory_.parameters()) fill(tensor, ++seed);
    fill(memory_.output_gradient(), ++seed);
    memory_.labels() = {1, 3};
    if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&spec_.layer.kind)) {
      const auto each = static_cast<float>(loss->loss_weight / spec_.batch);
      std::fill_n(memory_.output_gradient().as<float>(), spec_.batch, each);
    }
  }

  /// The gradients of all inputs, then of all parameters, by the backward passes.
  std::vector<Tensor> differentiate() {
    run(Pass::forward);
    for (const Pass pass : {Pass::backward_filter, Pass::backward_data}) {
      if (operation_->has(pass)) run(pass);
    }
    std::vector<Tensor> gradients = memory_.input_gradients();
    gradients.resize(memory_.inputs().size(), gradients.front());  // of a sum one for all
    return joined(gradients, memory_.parameter_gradients());
  }

  std::vector<Tensor> variables() { return joined(memory_.inputs(), memory_.parameters()); }

  /// The slope of the objective along one variable. Data are spaced by more than the step, so
  /// that it crosses no kink of ReLU or max pooling.
  double central_difference(float& variable) {
    const float middle = variable;
    const float low = middle - 1e-3F;
    const float high = middle + 1e-3F;
    variable = high;
    const double above = objective();
    variable = low;
    const double below = objective();
    variable = middle;
    return (above - below) / (double{high} - double{low});
  }

 private:
  static void fill(const Tensor& tensor, unsigned seed) {
    const std::vector<float> values = shuffled(tensor.desc.elements(), seed);
    std::copy(values.begin(), values.end(), tensor.as<float>());
  }

  static std::vector<Tensor> joined(std::vector<Tensor> tensors, const std::vector<Tensor>& more) {
    tensors.insert(tensors.end(), more.begin(), more.end());
    return tensors;
  }

  void run(Pass pass) { operation_->run(pass, memory_.operands(7)); }

  double objective() {
    run(Pass::forward);
    const float* y = memory_.output().as<float>();
    const float* r = memory_.output_gradient().as<float>();
    double sum = 0;
    for (std::int64_t i = 0; i < memory_.output().desc.elements(); ++i) sum += double{y[i]} * r[i];
    return sum;
  }

  std::unique_ptr<ComputeDevice> device_;
  OperationSpec spec_;
  std::unique_ptr<Operation> operation_;
  OperationMemory memory_;
};

class ReferenceGradient : public testing::TestWithParam<Case> {};

TEST_P(ReferenceGradient, IsTheSlopeOfForward) {
  Slope slope(GetParam());
  const std::vector<Tensor> gradients = slope.differentiate();
  const std::vector<Tensor> variables = slope.variables();
  ASSERT_EQ(gradients.size(), variables.size());
  for (std::size_t t = 0; t < variables.size(); ++t) {
    const std::int64_t elements = variables[t].desc.elements();
    ASSERT_LT(elements, 500) << "the data would be spaced by less than the step";
    double largest = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      largest = std::max(largest, std::abs(double{gradients[t].as<float>()[i]}));
    }
    EXPECT_GT(largest, 0) << "tensor " << t << " has no gradient at all";
    for (std::int64_t i = 0; i < elements; ++i) {
      EXPECT_NEAR(gradients[t].as<float>()[i],
                  slope.central_difference(variables[t].as<float>()[i]), 2e-3 * largest)
          << "element " << i << " of tensor " << t;
    }
  }
}

std::vector<Case> cases() {
  const Convolution plain{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  const Convolution strided{.out_channels = 3, .kernel_h = 3, .kernel_w = 2, .stride = 2};
  const Convolution grouped{
      .out_channels = 4, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1, .groups = 2};
  const Convolution pointwise{.out_channels = 5, .kernel_h = 1, .kernel_w = 1, .bias = false};
  const Pooling max = pooling(PoolingKind::max, 3, 2, 1);
  const Pooling average = pooling(PoolingKind::average, 3, 2, 1);
  const Pooling max_ceil = hanging_over(pooling(PoolingKind::max, 3, 2, 0));
  const Pooling average_ceil = hanging_over(pooling(PoolingKind::average, 3, 2, 0));
  const std::vector<Case> plainly{
      {"Convolution", plain, {{3, 5, 5}}},
      {"ConvolutionStrided", strided, {{3, 6, 6}}},
      {"ConvolutionGrouped", grouped, {{4, 5, 5}}},
      {"ConvolutionPointwise", pointwise, {{3, 4, 4}}},
      {"MaxPooling", max, {{3, 6, 6}}},
      {"MaxPoolingCeilMode", max_ceil, {{3, 6, 6}}},
      {"AveragePooling", average, {{3, 6, 6}}},
      {"AveragePoolingCeilMode", average_ceil, {{3, 6, 6}}},
      {"Relu", Relu{}, {{3, 5, 5}}},
      {"Lrn", Lrn{.size = 3, .alpha = 2, .beta = 0.75, .k = 1}, {{6, 3, 3}}},
      {"LrnWiderThanTheChannels", Lrn{.size = 5, .alpha = 1, .beta = 0.5, .k = 2}, {{2, 4, 4}}},
      {"BatchNorm", BatchNorm{.epsilon = 1e-2}, {{4, 4, 4}}},
      {"FullyConnected", FullyConnected{.outputs = 6}, {{3, 4, 4}}},
      {"FullyConnectedWithoutBias", FullyConnected{.outputs = 5, .bias = false}, {{7, 1, 1}}},
      {"Dropout", Dropout{.probability = 0.4}, {{4, 4, 4}}},
      {"Concat", Concat{}, {{2, 4, 4}, {5, 4, 4}}},
      {"SoftmaxCrossEntropy", SoftmaxCrossEntropy{}, {{6, 1, 1}}},
      {"SoftmaxCrossEntropyWeighted", SoftmaxCrossEntropy{.loss_weight = 0.3}, {{9, 1, 1}}}};
  return plainly + with_relu({{"ConvolutionRelu", plain, {{3, 5, 5}}},
                              {"ConvolutionGroupedRelu", grouped, {{4, 5, 5}}},
                              {"ConvolutionPointwiseRelu", pointwise, {{3, 4, 4}}},
                              {"BatchNormRelu", BatchNorm{.epsilon = 1e-2}, {{4, 4, 4}}},
                              {"SumRelu", Sum{}, {{3, 5, 5}, {3, 5, 5}, {3, 5, 5}}}});
}

INSTANTIATE_TEST_SUITE_P(AllKinds, ReferenceGradient, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace dlscale::backend
