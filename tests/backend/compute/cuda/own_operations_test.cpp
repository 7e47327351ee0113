#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/cuda/cudnn_layers/pooling_ties.hpp"
#include "backend/compute/cuda/cudnn_layers/softmax_loss.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/cuda/equal_elements.hpp"
#include "tests/backend/compute/cuda/loop_device.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"
#include "tests/backend/compute/layers.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Our own kernels, run by loops on the host, agree with the reference.

struct Case {
  std::string name;
  LayerKind kind;
  std::vector<ImageShape> inputs;
  int batch = 3;
  bool relu = false;
};

std::ostream& operator<<(std::ostream& out, const Case& shown) {
  return out << shown.name;
}

Pooling pooling(PoolingKind kind, int kernel, int stride, int pad) {
  return {.kind = kind, .kernel_h = kernel, .kernel_w = kernel, .stride = stride, .pad = pad};
}

Pooling hanging_over(Pooling kind) {
  kind.ceil_mode = true;
  return kind;
}

std::vector<Case> poolings() {
  constexpr auto max = PoolingKind::max;
  constexpr auto average = PoolingKind::average;
  return {
      {"Max3x3Stride2", pooling(max, 3, 2, 0), {{16, 11, 9}}},
      {"Max3x3Stride2Padded", pooling(max, 3, 2, 1), {{24, 12, 13}}},
      {"Max3x3Stride1Padded", pooling(max, 3, 1, 1), {{8, 7, 8}}},
      {"Max2x2LeavesPixelsOut", pooling(max, 2, 2, 0), {{16, 7, 7}}},
      {"Max2x2Stride3LeavesGaps", pooling(max, 2, 3, 0), {{16, 8, 9}}},
      {"MaxCeilMode", hanging_over(pooling(max, 3, 2, 0)), {{16, 8, 6}}},
      {"MaxCeilModePadded", hanging_over(pooling(max, 3, 2, 1)), {{8, 10, 8}}},
      {"Max17Channels", pooling(max, 3, 2, 1), {{17, 9, 9}}},
      {"MaxOfFiveByFive", pooling(max, 5, 2, 2), {{16, 9, 9}}},
      {"MaxOfRows", Pooling{.kind = max, .kernel_h = 1, .kernel_w = 4}, {{16, 5, 9}}},
      {"MaxGlobal", Pooling{.kind = max}, {{16, 6, 5}}},
      {"MaxOfMoreThan256Elements", Pooling{.kind = max}, {{8, 18, 17}}},
      {"Average5x5Stride3", pooling(average, 5, 3, 0), {{16, 14, 13}}},
      {"AveragePadded", pooling(average, 3, 2, 1), {{8, 9, 9}}},
      {"AveragePaddedStride1", pooling(average, 3, 1, 1), {{16, 5, 6}}},
      {"AverageCeilMode", hanging_over(pooling(average, 3, 2, 0)), {{16, 8, 8}}},
      {"AverageCeilModePadded", hanging_over(pooling(average, 3, 2, 1)), {{8, 10, 10}}},
      {"AverageGlobal", Pooling{.kind = average}, {{64, 7, 7}}},
      {"AverageGlobal17Channels", Pooling{.kind = average}, {{17, 9, 5}}, 2},
      {"Average17Channels", pooling(average, 2, 2, 0), {{17, 6, 6}}},
  };
}

std::vector<Case> normalisations() {
  const Lrn strong{.size = 5, .alpha = 1, .beta = 0.75, .k = 1};
  return {
      {"Lrn", Lrn{}, {{32, 5, 7}}},
      {"LrnStrong", strong, {{32, 6, 6}}},
      {"LrnOfKrizhevsky", Lrn{.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2}, {{96, 5, 5}}},
      {"LrnOfSize3", Lrn{.size = 3, .alpha = 1, .beta = 0.5, .k = 1}, {{16, 5, 5}}},
      {"LrnOfSize1", Lrn{.size = 1, .alpha = 1, .beta = 0.5, .k = 1}, {{16, 5, 5}}},
      {"LrnOfSize9", Lrn{.size = 9, .alpha = 2, .beta = 0.75, .k = 1}, {{24, 4, 5}}},
      {"LrnWiderThanTheChannels", Lrn{.size = 7, .alpha = 2}, {{2, 4, 5}}},
      {"Lrn17Channels", strong, {{17, 5, 5}}},
      {"Lrn3Channels", strong, {{3, 5, 5}}},
      {"BatchNorm", BatchNorm{}, {{64, 7, 7}}},
      {"BatchNormOfPacksInPlanes", BatchNorm{}, {{8, 8, 4}}, 5},
      {"BatchNorm17Channels", BatchNorm{}, {{17, 6, 6}}},
      {"BatchNormOfManyChannels", BatchNorm{}, {{528, 2, 2}}, 4},
      {"BatchNormOfManyPixels", BatchNorm{}, {{3, 40, 40}}, 4},
      {"BatchNormOfManyPacks", BatchNorm{}, {{8, 48, 40}}, 6},
      {"BatchNormOfVectors", BatchNorm{}, {{40, 1, 1}}, 9},
      {"BatchNormOfOneImage", BatchNorm{}, {{24, 3, 3}}, 1},
      {"BatchNormLargeEpsilon", BatchNorm{.epsilon = 0.5}, {{16, 4, 4}}},
  };
}

std::vector<Case> others() {
  return {
      {"Relu", Relu{}, {{32, 7, 7}}},
      {"ReluOfOddNumber", Relu{}, {{17, 5, 5}}},
      {"ReluOfSeveralTeams", Relu{}, {{24, 23, 23}}},
      {"Dropout", Dropout{}, {{32, 5, 5}}},
      {"DropoutOfFew", Dropout{.probability = 0.1}, {{17, 4, 4}}},
      {"DropoutOfVectors", Dropout{.probability = 0.7}, {{100, 1, 1}}},
      {"Concat", Concat{}, {{16, 6, 6}, {32, 6, 6}, {64, 6, 6}}},
      {"ConcatOddChannels", Concat{}, {{17, 5, 5}, {3, 5, 5}, {16, 5, 5}}},
      {"ConcatEvenChannels", Concat{}, {{6, 5, 5}, {2, 5, 5}}},
      {"ConcatOfTwenty", Concat{}, std::vector<ImageShape>(20, {4, 3, 3})},
      {"Sum", Sum{}, {{32, 6, 6}, {32, 6, 6}}},
      {"SumOfThree17Channels", Sum{}, {{17, 5, 5}, {17, 5, 5}, {17, 5, 5}}},
      {"SumOfFour", Sum{}, std::vector<ImageShape>(4, {8, 4, 4})},
      {"Loss", SoftmaxCrossEntropy{}, {{10, 1, 1}}, 5},
      {"LossWeighted", SoftmaxCrossEntropy{.loss_weight = 0.3}, {{1000, 1, 1}}, 4},
  };
}

/// Layers that have taken in the ReLU after them.
std::vector<Case> fused() {
  std::vector<Case> cases{
      {"BatchNormRelu", BatchNorm{}, {{64, 7, 7}}},
      {"BatchNormRelu17Channels", BatchNorm{}, {{17, 6, 6}}},
      {"SumRelu", Sum{}, {{32, 6, 6}, {32, 6, 6}}},
      {"SumReluOfThree17Channels", Sum{}, {{17, 5, 5}, {17, 5, 5}, {17, 5, 5}}},
  };
  for (Case& each : cases) each.relu = true;
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = poolings();
  for (const auto& more : {normalisations(), others(), fused()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

/// In the order of the device, where tensors between operations lie.
OperationSpec spec_of(const Case& tested, DType dtype, Order order) {
  Layer layer = make_layer(tested.kind, tested.inputs);
  layer.relu = tested.relu;
  OperationSpec spec{layer, tested.batch, dtype, {}};
  for (const ImageShape& shape : layer.input_shapes) {
    spec.inputs.push_back(
        tensor_desc({tested.batch, shape.channels, shape.height, shape.width}, dtype, order));
  }
  return spec;
}

/// Sums are f32 and rounded once, by half a unit of the last place: 2^-8 in bf16, 2^-11 in f16.
double tolerance(DType dtype) {
  constexpr double of_sums = 4e-6;
  if (dtype == DType::bf16) return 0x1p-8 + of_sums;
  if (dtype == DType::f16) return 0x1p-11 + of_sums;
  return of_sums;
}

using Parameters = std::tuple<Case, DType, Order>;
class OwnOperations : public testing::TestWithParam<Parameters> {};

TEST_P(OwnOperations, GiveTheAnswersOfReference) {
  const auto& [tested, dtype, order] = GetParam();
  const auto device = make_loop_device(order);
  const auto reference = family<ComputeBackend>().find("reference")->open({});
  const OperationSpec spec = spec_of(tested, dtype, order);
  const auto operation = device->create(spec);
  ASSERT_TRUE(!tested.relu || operation->has(Pass::backward_data));
  EXPECT_EQ(order_of(operation->output()), order);
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    if (!operation->has(pass)) continue;
    for (const std::uint64_t seed : {1U, 2U}) {
      const OperationCheck check = check_operation(*device, *reference, spec, pass, seed);
      EXPECT_LE(check.max_relative_error, tolerance(dtype))
          << check.worst << " of " << pass_name(pass) << " by " << operation->implementation(pass);
    }
  }
}

TEST(OwnMaxPooling, GivesTheGradientToTheFirstOfEqualElements) {
  const auto reference = family<ComputeBackend>().find("reference")->open({});
  for (const Layer& layer : max_poolings()) {
    const std::vector<float> expected =
        gradient_of_equal_elements(*reference, plain_spec(*reference, layer, 3, DType::f32));
    for (const DType dtype : all_dtypes) {
      for (const Order order : {Order::nchw, Order::nhwc}) {
        const auto device = make_loop_device(order);
        OperationSpec spec = plain_spec(*device, layer, 3, dtype);
        spec.inputs[0] = tensor_desc(spec.inputs[0].dims, dtype, order);
        EXPECT_EQ(gradient_of_equal_elements(*device, spec), expected) << dtype_name(dtype);
      }
    }
  }
}

/// What a recording reads when it runs counts, not what it was given.
TEST(OwnDropout, ReadsItsSeedInMemoryWhereThereIsOne) {
  constexpr std::uint64_t other = 99;
  for (const DType dtype : all_dtypes) {
    for (const Order order : {Order::nchw, Order::nhwc}) {
      for (const ImageShape shape : {ImageShape{32, 5, 5}, ImageShape{17, 4, 4}}) {
        const auto device = make_loop_device(order);
        const OperationSpec spec =
            spec_of({"", Dropout{.probability = 0.3}, {shape}}, dtype, order);
        const auto operation = device->create(spec);
        OperationMemory memory(*device, spec, *operation);
        const auto fill = [](const Tensor& tensor) {
          std::fill_n(tensor.data, tensor.desc.layout.bytes, std::byte{0x3c});
        };
        fill(memory.inputs()[0]);
        fill(memory.output_gradient());
        std::uint64_t seed = 0;
        const auto run = [&](Pass pass, const Tensor& result, std::uint64_t given, bool in_memory) {
          Operands operands = memory.operands(given);
          if (in_memory) operands.seed_memory = &seed;
          operation->run(pass, operands);
          return std::vector<std::byte>(result.data, result.data + result.desc.layout.bytes);
        };
        for (const auto& [pass, result] : {std::pair(Pass::forward, memory.output()),
                                           {Pass::backward_data, memory.input_gradients()[0]}}) {
          const auto first = run(pass, result, 1, false);
          seed = 1;
          EXPECT_EQ(run(pass, result, other, true), first);
          seed = 2;
          EXPECT_NE(run(pass, result, other, true), first);
        }
      }
    }
  }
}

std::string parameter_name(const testing::TestParamInfo<Parameters>& info) {
  const auto& [tested, dtype, order] = info.param;
  return tested.name + "_" + std::string(dtype_name(dtype)) +
         (order == Order::nchw ? "_nchw" : "_nhwc");
}

INSTANTIATE_TEST_SUITE_P(AllKinds, OwnOperations,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::ValuesIn(all_dtypes),
                                          testing::Values(Order::nchw, Order::nhwc)),
                         parameter_name);

/// Max tied_poolings that give the gradient of equal elements away otherwise, run by loops on the
/// host.

/// The places that get the gradient, among those of the largest elements of a window, in order.
using Rule = std::function<std::vector<std::int64_t>(const std::vector<std::int64_t>& largest)>;

/// A max pooling of plain f32 tensors whose backward pass follows a rule.
class RuledPooling final : public Operation {
 public:
  RuledPooling(std::unique_ptr<Operation> honest, const OperationSpec& spec, Rule rule)
      : honest_(std::move(honest)),
        kind_(std::get<Pooling>(spec.layer.kind)),
        input_(spec.inputs.front().dims),
        rule_(std::move(rule)) {}

  [[nodiscard]] const TensorDesc& output() const override { return honest_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return honest_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return honest_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return honest_->scratch_bytes(); }
  [[nodiscard]] bool has(Pass pass) const override { return honest_->has(pass); }
  [[nodiscard]] std::string implementation(Pass /*pass*/) const override { return "ruled"; }

  void run(Pass pass, const Operands& operands) override {
    if (pass == Pass::forward) return honest_->run(pass, operands);
    const float* x = operands.inputs[0].as<float>();
    const float* dy = operands.output_gradient.as<float>();
    float* dx = operands.input_gradients[0].as<float>();
    std::fill_n(dx, input_[0] * input_[1] * input_[2] * input_[3], 0.0F);
    const auto& [images, channels, rows, columns] = honest_->output().dims;
    for (std::int64_t plane = 0; plane < images * channels; ++plane) {
      for (std::int64_t p = 0; p < rows; ++p) {
        for (std::int64_t q = 0; q < columns; ++q) {
          const float gradient = dy[(plane * rows + p) * columns + q];
          for (const std::int64_t place : rule_(largest(x, plane, p, q))) dx[place] += gradient;
        }
      }
    }
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> largest(const float* x, std::int64_t plane,
                                                  std::int64_t p, std::int64_t q) const {
    std::vector<std::int64_t> places;
    for (std::int64_t r = 0; r < kind_.kernel_h; ++r) {
      for (std::int64_t s = 0; s < kind_.kernel_w; ++s) {
        const std::int64_t h = p * kind_.stride - kind_.pad + r;
        const std::int64_t w = q * kind_.stride - kind_.pad + s;
        if (h < 0 || h >= input_[2] || w < 0 || w >= input_[3]) continue;
        const std::int64_t place = (plane * input_[2] + h) * input_[3] + w;
        if (!places.empty() && x[place] > x[places[0]]) places.clear();
        if (places.empty() || x[place] == x[places[0]]) places.push_back(place);
      }
    }
    return places;
  }

  std::unique_ptr<Operation> honest_;
  Pooling kind_;
  Dims input_;
  Rule rule_;
};

/// The error for a rule; empty if there is none.
std::string words_for(const Rule& rule, const Pooling& kind) {
  const auto device = family<ComputeBackend>().find("reference")->open({});
  const OperationSpec spec = plain_spec(*device, make_layer(kind, {{3, 11, 8}}), 2, DType::f32);
  const auto own = device->create(spec);
  RuledPooling other(device->create(spec), spec, rule);
  try {
    expect_same_ties(*device, spec, *own, other);
  } catch (const Unsupported& refusal) {
    return refusal.what();
  }
  return "";
}

const std::vector<Pooling> tied_poolings{
    {.kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1},
    {.kernel_h = 2, .kernel_w = 2, .stride = 2},
    {.kernel_h = 3, .kernel_w = 2, .stride = 1},
};

TEST(PoolingTies, GiveTheGradientToTheFirst) {
  for (const Pooling& kind : tied_poolings) {
    const auto first = [](const std::vector<std::int64_t>& largest) {
      return std::vector{largest.front()};
    };
    EXPECT_EQ(words_for(first, kind), "");
  }
}

TEST(PoolingTies, ThatGiveItElsewhereAreRefused) {
  for (const Pooling& kind : tied_poolings) {
    const auto last = [](const std::vector<std::int64_t>& largest) {
      return std::vector{largest.back()};
    };
    EXPECT_NE(words_for(last, kind).find("ruled gives the gradient to another one"),
              std::string::npos);
    const auto all = [](const std::vector<std::int64_t>& largest) { return largest; };
    EXPECT_NE(words_for(all, kind).find("ruled gives the gradient to several of them"),
              std::string::npos);
  }
}

/// Equal elements do not explain it, so the test must not accept it as such a case.
TEST(PoolingTies, ExcuseNoWrongGradient) {
  const auto beside = [](const std::vector<std::int64_t>& largest) {
    return std::vector{std::max<std::int64_t>(0, largest.front() - 1)};
  };
  const auto none = [](const std::vector<std::int64_t>& /*largest*/) {
    return std::vector<std::int64_t>{};
  };
  for (const Pooling& kind : tied_poolings) {
    EXPECT_EQ(words_for(beside, kind), "");
    EXPECT_EQ(words_for(none, kind), "");
  }
}

/// Our kernels around a library's softmax, run by loops on the host, against the reference.

/// In place of the library's.
struct PlainLogSoftmax {
  [[nodiscard]] static std::string name() { return "plain"; }

  void operator()(const Tensor& x, float* logarithms) const {
    const auto [images, classes, height, width] = x.desc.dims;
    with_element(x.desc.dtype, [&]<class T>(T) {
      for (std::int64_t i = 0; i < x.desc.elements(); ++i) {
        logarithms[i] = to_float(x.as<const T>()[i]);
      }
    });
    for (std::int64_t n = 0; n < images; ++n) normalise(logarithms + n * classes, classes);
  }

  static void normalise(float* row, std::int64_t classes) {
    const float largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(double{row[c]} - double{largest});
    for (std::int64_t c = 0; c < classes; ++c) {
      row[c] = static_cast<float>(double{row[c]} - double{largest} - std::log(sum));
    }
  }
};

OperationSpec loss_spec(const SoftmaxCrossEntropy& kind, int classes, int batch, DType dtype,
                        Order order) {
  return {make_layer(kind, {{classes, 1, 1}}),
          batch,
          dtype,
          {tensor_desc({batch, classes, 1, 1}, dtype, order)}};
}

double loss_tolerance(DType dtype) {
  constexpr double of_sums = 4e-6;
  if (dtype == DType::bf16) return 0x1p-8 + of_sums;
  return dtype == DType::f16 ? 0x1p-11 + of_sums : of_sums;
}

TEST(SoftmaxLoss, GivesTheAnswersOfReference) {
  const auto reference = family<ComputeBackend>().find("reference")->open({});
  for (const Order order : {Order::nchw, Order::nhwc}) {
    const auto device = make_loop_device(order);
    for (const DType dtype : all_dtypes) {
      for (const int classes : {1, 10, 1000}) {
        const SoftmaxCrossEntropy kind{.loss_weight = 0.3};
        const OperationSpec spec = loss_spec(kind, classes, 5, dtype, order);
        SoftmaxLossOperation<LoopLauncher, PlainLogSoftmax> operation({}, {}, spec, order, kind);
        for (const Pass pass : {Pass::forward, Pass::backward_data}) {
          const OperationCheck check =
              check_operation(*device, *reference, spec, operation, pass, 1);
          EXPECT_LE(check.max_relative_error, loss_tolerance(dtype))
              << check.worst << " of " << classes << " classes in " << dtype_name(dtype);
        }
      }
    }
  }
}

TEST(SoftmaxLoss, SaysWhatRuns) {
  const SoftmaxCrossEntropy kind;
  const OperationSpec spec = loss_spec(kind, 10, 2, DType::f32, Order::nhwc);
  const SoftmaxLossOperation<LoopLauncher, PlainLogSoftmax> operation({}, {}, spec, Order::nhwc,
                                                                      kind);
  EXPECT_EQ(operation.implementation(Pass::forward), "plain+own:loss");
  EXPECT_EQ(operation.implementation(Pass::backward_data), "own:loss_gradient");
  EXPECT_FALSE(operation.has(Pass::backward_filter));
}

TEST(SoftmaxLoss, ShowsALabelThatIsNoClass) {
  const std::vector<float> logarithms{-1, -2, -3, -4};
  const std::vector<std::int32_t> labels{2, -1};
  std::vector<float> losses(2);
  const PickedLoss code{logarithms.data(), labels.data(), losses.data(), 2};
  code(0);
  code(1);
  EXPECT_TRUE(std::isnan(losses[0]));
  EXPECT_TRUE(std::isnan(losses[1]));
}

}  // namespace
}  // namespace dlscale::backend::cuda
