#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/layers.hpp"

namespace dlscale::backend {
namespace {

struct Case {
  std::string name;
  LayerKind kind;
  std::vector<ImageShape> inputs;
  int batch = 3;  ///< all images are compared, with gradients in all of them
  bool relu = false;

  [[nodiscard]] Layer layer() const {
    Layer made = make_layer(kind, inputs);
    made.relu = relu;
    return made;
  }
};

std::ostream& operator<<(std::ostream& out, const Case& shown) {
  return out << shown.name;
}

std::vector<Case> convolutions() {
  const auto square = [](int out_channels, int kernel, int stride, int pad) {
    return Convolution{.out_channels = out_channels,
                       .kernel_h = kernel,
                       .kernel_w = kernel,
                       .stride = stride,
                       .pad = pad};
  };
  const auto grouped = [](Convolution kind, int groups) {
    kind.groups = groups;
    return kind;
  };
  const auto without_bias = [](Convolution kind) {
    kind.bias = false;
    return kind;
  };
  return {
      {"Convolution1x1", square(128, 1, 1, 0), {{64, 9, 9}}},
      {"Convolution1x1Stride2", square(64, 1, 2, 0), {{32, 9, 9}}},
      {"Convolution3x3", square(64, 3, 1, 1), {{32, 10, 10}}},
      {"Convolution3x3Stride2", square(32, 3, 2, 1), {{32, 11, 11}}},
      {"Convolution3x3NoPadding", square(16, 3, 1, 0), {{16, 8, 8}}},
      {"Convolution5x5", square(32, 5, 1, 2), {{24, 9, 9}}},
      {"Convolution7x7Stride2", square(64, 7, 2, 3), {{3, 30, 30}}},
      {"Convolution11x11Stride4", square(96, 11, 4, 2), {{3, 47, 47}}},
      {"Convolution3x1",
       Convolution{.out_channels = 16, .kernel_h = 3, .kernel_w = 1},
       {{16, 8, 6}}},
      {"ConvolutionTwoGroups", grouped(square(64, 5, 1, 2), 2), {{48, 8, 8}}},
      {"ConvolutionDepthwise", grouped(square(32, 3, 1, 1), 32), {{32, 8, 8}}},
      {"ConvolutionOddGroups", grouped(square(9, 3, 1, 1), 3), {{6, 7, 7}}},
      {"Convolution3To17Channels", square(17, 3, 1, 1), {{3, 9, 9}}},
      {"Convolution17To3Channels", square(3, 3, 1, 1), {{17, 9, 9}}},
      {"ConvolutionWithoutBias", without_bias(square(64, 3, 1, 1)), {{64, 7, 7}}},
      {"ConvolutionGroupsWithoutBias", without_bias(grouped(square(32, 3, 2, 1), 2)), {{32, 9, 9}}},
      {"ConvolutionOfOneImage", square(32, 3, 1, 1), {{16, 6, 6}}, 1},
      {"ConvolutionOfManyImages", square(32, 3, 1, 1), {{16, 6, 6}}, 16},
  };
}

std::vector<Case> poolings() {
  const auto pooling = [](PoolingKind kind, int kernel, int stride, int pad) {
    return Pooling{
        .kind = kind, .kernel_h = kernel, .kernel_w = kernel, .stride = stride, .pad = pad};
  };
  const auto hanging_over = [](Pooling kind) {
    kind.ceil_mode = true;
    return kind;
  };
  constexpr auto max = PoolingKind::max;
  constexpr auto average = PoolingKind::average;
  return {
      {"MaxPooling3x3Stride2", pooling(max, 3, 2, 0), {{32, 11, 11}}},
      {"MaxPoolingLeavesPixelsOut", pooling(max, 2, 2, 0), {{16, 7, 7}}},
      {"MaxPoolingPadded", pooling(max, 3, 1, 1), {{32, 8, 8}}},
      {"MaxPoolingPaddedStride2", pooling(max, 3, 2, 1), {{64, 12, 12}}},
      {"MaxPoolingCeilMode", hanging_over(pooling(max, 3, 2, 0)), {{16, 8, 8}}},
      {"MaxPooling17Channels", pooling(max, 3, 2, 1), {{17, 9, 9}}},
      {"AveragePooling5x5Stride3", pooling(average, 5, 3, 0), {{32, 14, 14}}},
      {"AveragePoolingPadded", pooling(average, 3, 2, 1), {{16, 9, 9}}},
      {"AveragePoolingCeilMode", hanging_over(pooling(average, 3, 2, 0)), {{16, 8, 8}}},
      {"AveragePoolingCeilModePadded", hanging_over(pooling(average, 3, 2, 1)), {{16, 10, 10}}},
      {"AveragePoolingGlobal", pooling(average, 7, 1, 0), {{64, 7, 7}}},
      {"AveragePooling17Channels", pooling(average, 2, 2, 0), {{17, 6, 6}}},
  };
}

std::vector<Case> others() {
  const Lrn strong{.size = 5, .alpha = 1, .beta = 0.75, .k = 1};
  return {
      {"Relu", Relu{}, {{32, 7, 7}}},
      {"Relu17Channels", Relu{}, {{17, 5, 5}}},
      {"Lrn", Lrn{}, {{32, 7, 7}}},
      {"LrnStrong", strong, {{32, 6, 6}}},
      {"LrnOfKrizhevsky", Lrn{.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2}, {{96, 5, 5}}},
      {"LrnOfSize3", Lrn{.size = 3, .alpha = 1, .beta = 0.5, .k = 1}, {{16, 5, 5}}},
      {"Lrn17Channels", strong, {{17, 5, 5}}},
      {"BatchNorm", BatchNorm{}, {{64, 7, 7}}},
      {"BatchNorm17Channels", BatchNorm{}, {{17, 6, 6}}},
      {"BatchNormLargeEpsilon", BatchNorm{.epsilon = 0.5}, {{16, 4, 4}}},
      {"FullyConnectedAfterImages", FullyConnected{.outputs = 40}, {{32, 6, 6}}},
      {"FullyConnectedAfter17Channels", FullyConnected{.outputs = 20}, {{17, 3, 3}}},
      {"FullyConnectedAfterVectors", FullyConnected{.outputs = 100}, {{256, 1, 1}}},
      {"FullyConnectedWithoutBias", FullyConnected{.outputs = 33, .bias = false}, {{65, 1, 1}}},
      {"Dropout", Dropout{}, {{32, 5, 5}}},
      {"DropoutOfFew", Dropout{.probability = 0.1}, {{17, 4, 4}}},
      {"DropoutOfVectors", Dropout{.probability = 0.7}, {{100, 1, 1}}},
      {"Concat", Concat{}, {{16, 6, 6}, {32, 6, 6}, {64, 6, 6}}},
      {"ConcatOddChannels", Concat{}, {{17, 5, 5}, {3, 5, 5}, {16, 5, 5}}},
      {"ConcatHalfBlocks", Concat{}, {{24, 5, 5}, {8, 5, 5}}},
      {"Sum", Sum{}, {{32, 6, 6}, {32, 6, 6}}},
      {"SumOfThree17Channels", Sum{}, {{17, 5, 5}, {17, 5, 5}, {17, 5, 5}}},
      {"Loss", SoftmaxCrossEntropy{}, {{10, 1, 1}}, 5},
      {"LossWeighted", SoftmaxCrossEntropy{.loss_weight = 0.3}, {{1000, 1, 1}}, 4},
  };
}

/// Layers that have taken in the ReLU after them.
std::vector<Case> fused() {
  const Convolution square{.out_channels = 32, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  const Convolution strided{
      .out_channels = 24, .kernel_h = 5, .kernel_w = 5, .stride = 2, .pad = 2, .groups = 2};
  Convolution pointwise{.out_channels = 64, .kernel_h = 1, .kernel_w = 1, .bias = false};
  std::vector<Case> cases{
      {"ConvolutionRelu3x3", square, {{16, 9, 9}}},
      {"ConvolutionRelu5x5TwoGroups", strided, {{16, 9, 9}}},
      {"ConvolutionRelu1x1WithoutBias", pointwise, {{32, 7, 7}}},
      {"ConvolutionReluOf3Channels", square, {{3, 9, 9}}},
      {"ConvolutionReluOfManyImages", square, {{16, 6, 6}}, 16},
      {"BatchNormRelu", BatchNorm{}, {{64, 7, 7}}},
      {"BatchNormRelu17Channels", BatchNorm{}, {{17, 6, 6}}},
      {"SumRelu", Sum{}, {{32, 6, 6}, {32, 6, 6}}},
      {"SumReluOfThree17Channels", Sum{}, {{17, 5, 5}, {17, 5, 5}, {17, 5, 5}}},
  };
  for (Case& each : cases) each.relu = true;
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = convolutions();
  for (const auto& more : {poolings(), others(), fused()})
    cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

/// Of the inputs; the last three of all activations, and asked for.
enum class InputLayout { plain, chained, nchw, nhwc, blocked };

/// Nothing where none is asked for.
std::optional<LayoutKind> asked_for(InputLayout layout) {
  switch (layout) {
    case InputLayout::plain:
    case InputLayout::chained:
      return std::nullopt;
    case InputLayout::nchw:
      return LayoutKind::nchw;
    case InputLayout::nhwc:
      return LayoutKind::nhwc;
    case InputLayout::blocked:
      return LayoutKind::blocked;
  }
  return std::nullopt;
}

using Parameters = std::tuple<const ComputeBackend*, Case, DType, InputLayout>;

/// Elements that are equal in 16 bits only may be the largest of a window together.
bool chooses_among_equals(const Layer& layer, Pass pass, DType dtype) {
  const auto* pooling = std::get_if<Pooling>(&layer.kind);
  return pooling != nullptr && pooling->kind == PoolingKind::max && pass == Pass::backward_data &&
         element_bytes(dtype) < sizeof(float);
}

/// These layers are small, so less is allowed than in allowed_error(). oneDNN adds the gradients of
/// overlapping windows in bf16, one by one; Winograd's transforms multiply what cancels later, and
/// products of transforms may round them to tf32. cuDNN does not say which of equal elements gets a
/// gradient; what training runs is ours.
double tolerance(const Layer& layer, Pass pass, DType dtype, std::string_view implementation) {
  const auto is_by = [&](std::string_view name) {
    return implementation.find(name) != std::string_view::npos;
  };
  if (is_by("cudnn") && chooses_among_equals(layer, pass, dtype)) return HUGE_VAL;
  if (dtype == DType::f32) return is_by("winograd") ? 1e-4 : 1e-5;
  if (is_by("winograd") || is_by("fft")) return allowed_error(dtype);
  if (dtype == DType::tf32) return 1e-3;
  if (dtype == DType::f16) return 5e-3;
  const bool adds_in_bf16 =
      std::holds_alternative<Pooling>(layer.kind) && pass == Pass::backward_data;
  return adds_in_bf16 ? 5e-2 : 2e-2;
}

/// What all tests share: of a convolution the reference takes longer than what is checked, so that
/// it is asked once for all backends, algorithms and orders of activations.
struct Shared {
  OpenedDevices devices;
  std::unique_ptr<ComputeDevice> reference = family<ComputeBackend>().find("reference")->open({});
  ReferenceAnswers answers;
};

class Conformance : public testing::TestWithParam<Parameters> {
 protected:
  static void SetUpTestSuite() { shared = std::make_unique<Shared>(); }
  static void TearDownTestSuite() { shared.reset(); }
  static std::unique_ptr<Shared> shared;
};

std::unique_ptr<Shared> Conformance::shared;

OperationSpec spec_of(ComputeDevice& device, const Layer& layer, const Parameters& parameters) {
  const auto& [backend, layer_case, dtype, layout] = parameters;
  if (layout == InputLayout::chained) return chained_spec(device, layer, layer_case.batch, dtype);
  const OperationSpec plain = plain_spec(device, layer, layer_case.batch, dtype);
  const auto kind = asked_for(layout);
  return kind ? laid_out(device, plain, *kind) : plain;
}

TEST_P(Conformance, GivesTheAnswersOfReference) {
  const auto& [backend, layer_case, dtype, layout] = GetParam();
  const auto& [device, reason] = shared->devices.of(*backend);
  if (device == nullptr) GTEST_SKIP() << reason;
  if (const auto why = why_without(*device, dtype); !why.empty()) GTEST_SKIP() << why;
  ComputeDevice& reference = *shared->reference;
  const Layer layer = layer_case.layer();
  const OperationSpec spec = spec_of(*device, layer, GetParam());
  const auto operation = device->create(spec);
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    ASSERT_EQ(operation->has(pass),
              reference.create(plain_spec(reference, layer, 1, DType::f32))->has(pass));
    if (!operation->has(pass)) continue;
    const OperationCheck check =
        check_operation(*device, reference, spec, *operation, pass, 1, &shared->answers);
    EXPECT_LE(check.max_relative_error,
              tolerance(layer, pass, dtype, operation->implementation(pass)))
        << check.worst << " of " << pass_name(pass) << " by " << operation->implementation(pass)
        << " from " << spec.inputs.front().layout.name;
  }
}

/// Those that refuse this layer say why.
TEST_P(Conformance, GivesThemByEveryAlgorithm) {
  const auto& [backend, layer_case, dtype, layout] = GetParam();
  const auto& [device, reason] = shared->devices.of(*backend);
  if (device == nullptr) GTEST_SKIP() << reason;
  if (const auto why = why_without(*device, dtype); !why.empty()) GTEST_SKIP() << why;
  ComputeDevice& reference = *shared->reference;
  const Layer layer = layer_case.layer();
  const OperationSpec spec = spec_of(*device, layer, GetParam());
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    for (const Algorithm& algorithm : device->algorithms(spec, pass)) {
      try {
        const auto operation = algorithm.create();
        const OperationCheck check =
            check_operation(*device, reference, spec, *operation, pass, 1, &shared->answers);
        EXPECT_LE(check.max_relative_error,
                  tolerance(layer, pass, dtype, operation->implementation(pass)))
            << check.worst << " of " << pass_name(pass) << " by " << algorithm.name;
      } catch (const Unsupported& error) {
        EXPECT_STRNE(error.what(), "");
      }
    }
  }
}

/// Those that the backend offers; of others device_test checks that they are refused.
std::vector<DType> dtypes_of(const ComputeBackend& backend) {
  if (backend.name == "reference" || backend.name == "native") return {DType::f32};
  if (backend.name == "onednn") return {DType::f32, DType::bf16};
  return {all_dtypes.begin(), all_dtypes.end()};
}

/// The first two have one order of activations, so that chained inputs are plain ones.
std::vector<InputLayout> layouts_of(const ComputeBackend& backend) {
  if (backend.name == "reference" || backend.name == "native") return {InputLayout::plain};
  if (backend.name != "onednn") return {InputLayout::plain, InputLayout::chained};
  return {InputLayout::plain, InputLayout::chained, InputLayout::nchw, InputLayout::nhwc,
          InputLayout::blocked};
}

std::vector<Parameters> parameters() {
  std::vector<Parameters> all;
  for (const ComputeBackend* backend : family<ComputeBackend>().members) {
    for (const Case& layer_case : all_cases()) {
      for (const auto layout : layouts_of(*backend)) {
        for (const DType dtype : dtypes_of(*backend)) {
          all.emplace_back(backend, layer_case, dtype, layout);
        }
      }
    }
  }
  return all;
}

std::string parameter_name(const testing::TestParamInfo<Parameters>& info) {
  const auto& [backend, layer_case, dtype, layout] = info.param;
  const auto kind = asked_for(layout);
  const std::string order = kind ? std::string(layout_kind_name(*kind))
                                 : (layout == InputLayout::plain ? "plain" : "chained");
  return std::string(backend->name) + layer_case.name + "_" + std::string(dtype_name(dtype)) + "_" +
         order;
}

INSTANTIATE_TEST_SUITE_P(AllBackends, Conformance, testing::ValuesIn(parameters()), parameter_name);

}  // namespace
}  // namespace dlscale::backend
