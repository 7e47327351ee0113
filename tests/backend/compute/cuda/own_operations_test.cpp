#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/specification.hpp"
#include "tests/backend/compute/cuda/equal_elements.hpp"
#include "tests/backend/compute/cuda/loop_device.hpp"
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

}  // namespace
}  // namespace dlscale::backend::cuda
