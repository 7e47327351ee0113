#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/layer_cases.hpp"

namespace dlscale::backend {
namespace {

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

std::vector<Case> fully_connected() {
  return {
      {"FullyConnectedAfterImages", FullyConnected{.outputs = 40}, {{32, 6, 6}}},
      {"FullyConnectedAfter17Channels", FullyConnected{.outputs = 20}, {{17, 3, 3}}},
      {"FullyConnectedAfterVectors", FullyConnected{.outputs = 100}, {{256, 1, 1}}},
      {"FullyConnectedWithoutBias", FullyConnected{.outputs = 33, .bias = false}, {{65, 1, 1}}},
  };
}

std::vector<Case> convolutions_with_relu() {
  const Convolution square{.out_channels = 32, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  const Convolution strided{
      .out_channels = 24, .kernel_h = 5, .kernel_w = 5, .stride = 2, .pad = 2, .groups = 2};
  const Convolution pointwise{.out_channels = 64, .kernel_h = 1, .kernel_w = 1, .bias = false};
  return with_relu({{"ConvolutionRelu3x3", square, {{16, 9, 9}}},
                    {"ConvolutionRelu5x5TwoGroups", strided, {{16, 9, 9}}},
                    {"ConvolutionRelu1x1WithoutBias", pointwise, {{32, 7, 7}}},
                    {"ConvolutionReluOf3Channels", square, {{3, 9, 9}}},
                    {"ConvolutionReluOfManyImages", square, {{16, 6, 6}}, 16}});
}

std::vector<Case> all_cases() {
  return convolutions() + poolings() + other_layers() + fully_connected() +
         convolutions_with_relu() + layers_with_relu();
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
