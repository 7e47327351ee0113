#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/specification.hpp"
#include "tests/backend/compute/cuda/equal_elements.hpp"
#include "tests/backend/compute/cuda/host_tensor.hpp"
#include "tests/backend/compute/cuda/loop_device.hpp"
#include "tests/backend/compute/layer_cases.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Our own kernels, run by loops on the host, agree with the reference.

/// Cases that take each path of our kernels: packs of eight channels, teams of threads, lines.
std::vector<Case> own_cases() {
  constexpr auto max = PoolingKind::max;
  constexpr auto average = PoolingKind::average;
  return {
      {"Max2x2Stride3LeavesGaps", pooling(max, 2, 3, 0), {{16, 8, 9}}},
      {"MaxCeilModePadded", hanging_over(pooling(max, 3, 2, 1)), {{8, 10, 8}}},
      {"MaxOfFiveByFive", pooling(max, 5, 2, 2), {{16, 9, 9}}},
      {"MaxOfRows", Pooling{.kind = max, .kernel_h = 1, .kernel_w = 4}, {{16, 5, 9}}},
      {"MaxGlobal", Pooling{.kind = max}, {{16, 6, 5}}},
      {"MaxOfMoreThan256Elements", Pooling{.kind = max}, {{8, 18, 17}}},
      {"AveragePaddedStride1", pooling(average, 3, 1, 1), {{16, 5, 6}}},
      {"AverageGlobal17Channels", Pooling{.kind = average}, {{17, 9, 5}}, 2},
      {"LrnOfSize1", Lrn{.size = 1, .alpha = 1, .beta = 0.5, .k = 1}, {{16, 5, 5}}},
      {"LrnOfSize9", Lrn{.size = 9, .alpha = 2, .beta = 0.75, .k = 1}, {{24, 4, 5}}},
      {"LrnWiderThanTheChannels", Lrn{.size = 7, .alpha = 2}, {{2, 4, 5}}},
      {"Lrn3Channels", strong_lrn, {{3, 5, 5}}},
      {"BatchNormOfPacksInPlanes", BatchNorm{}, {{8, 8, 4}}, 5},
      {"BatchNormOfManyChannels", BatchNorm{}, {{528, 2, 2}}, 4},
      {"BatchNormOfManyPixels", BatchNorm{}, {{3, 40, 40}}, 4},
      {"BatchNormOfManyPacks", BatchNorm{}, {{8, 48, 40}}, 6},
      {"BatchNormOfVectors", BatchNorm{}, {{40, 1, 1}}, 9},
      {"BatchNormOfOneImage", BatchNorm{}, {{24, 3, 3}}, 1},
      {"ReluOfSeveralTeams", Relu{}, {{24, 23, 23}}},
      {"ConcatEvenChannels", Concat{}, {{6, 5, 5}, {2, 5, 5}}},
      {"ConcatOfTwenty", Concat{}, std::vector<ImageShape>(20, {4, 3, 3})},
      {"SumOfFour", Sum{}, std::vector<ImageShape>(4, {8, 4, 4})},
  };
}

/// In the order of the device, where tensors between operations lie.
OperationSpec spec_of(const Case& tested, DType dtype, Order order) {
  const Layer layer = tested.layer();
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
      for (const Order order : both_orders) {
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
    for (const Order order : both_orders) {
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
  return tested.name + "_" + name_of(dtype, order);
}

INSTANTIATE_TEST_SUITE_P(AllKinds, OwnOperations,
                         testing::Combine(testing::ValuesIn(own_cases() + poolings() +
                                                            other_layers() + layers_with_relu()),
                                          testing::ValuesIn(all_dtypes),
                                          testing::ValuesIn(both_orders)),
                         parameter_name);

}  // namespace
}  // namespace dlscale::backend::cuda
