/// The specification against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/compute/precision.hpp"
#include "tests/backend/compute/layers.hpp"

namespace dlscale::backend {
namespace {

using Values = std::vector<float>;

/// One operation of `reference` on images given as plain values.
class Forward {
 public:
  Forward(const LayerKind& kind, const std::vector<ImageShape>& shapes, int batch = 1)
      : device_(family<ComputeBackend>().find("reference")->open({})),
        spec_(plain_spec(*device_, make_layer(kind, shapes), batch, DType::f32)),
        operation_(device_->create(spec_)),
        memory_(*device_, spec_, *operation_) {}

  Values operator()(const std::vector<Values>& inputs, const std::vector<Values>& parameters = {},
                    const std::vector<std::int32_t>& labels = {}, std::uint64_t seed = 0) {
    for (std::size_t i = 0; i < inputs.size(); ++i) write(*device_, inputs[i], memory_.inputs()[i]);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      write(*device_, parameters[i], memory_.parameters()[i]);
    }
    if (!labels.empty()) memory_.labels() = labels;
    operation_->run(Pass::forward, memory_.operands(seed));
    return read(*device_, memory_.output());
  }

 private:
  std::unique_ptr<ComputeDevice> device_;
  OperationSpec spec_;
  std::unique_ptr<Operation> operation_;
  OperationMemory memory_;
};

const Values nine{1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(ReferenceConvolution, IsACrossCorrelation) {
  Forward convolution(Convolution{.out_channels = 1, .kernel_h = 2, .kernel_w = 2}, {{1, 3, 3}});
  // The kernel is not turned around: the upper left output is 1·1 + 2·2 + 4·3 + 5·4.
  EXPECT_EQ(convolution({nine}, {{1, 2, 3, 4}, {0.5F}}), Values({37.5F, 47.5F, 67.5F, 77.5F}));
}

TEST(ReferenceConvolution, PadsWithZeroAndSkipsByTheStride) {
  Forward convolution(
      Convolution{.out_channels = 1, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1},
      {{1, 3, 3}});
  // Sums over the corners of the image: 1+2+4+5, 2+3+5+6, 4+5+7+8, 5+6+8+9.
  EXPECT_EQ(convolution({nine}, {Values(9, 1.0F), {0}}), Values({12, 16, 24, 28}));
}

TEST(ReferenceConvolution, KeepsGroupsApart) {
  Forward convolution(
      Convolution{.out_channels = 2, .kernel_h = 1, .kernel_w = 1, .groups = 2, .bias = false},
      {{4, 1, 1}});
  EXPECT_EQ(convolution({{1, 2, 3, 4}}, {{1, 10, 100, 1000}}), Values({21, 4300}));
}

TEST(ReferenceConvolution, MayHaveAKernelLargerThanTheImage) {
  Forward convolution(Convolution{.out_channels = 1, .kernel_h = 5, .kernel_w = 5, .pad = 2},
                      {{1, 1, 1}});
  Values kernel(25);
  std::iota(kernel.begin(), kernel.end(), 0.0F);
  EXPECT_EQ(convolution({{2}}, {kernel, {1}}), Values({25}));  // the middle of the kernel is 12
}

TEST(ReferencePooling, HangsOverTheEdgeInCeilMode) {
  Forward pooling(Pooling{.kernel_h = 2, .kernel_w = 2, .stride = 2, .ceil_mode = true},
                  {{1, 3, 3}});
  EXPECT_EQ(pooling({nine}), Values({5, 6, 8, 9}));
}

TEST(ReferencePooling, AveragesOverTheElementsInsideTheImage) {
  Forward pooling(
      Pooling{.kind = PoolingKind::average, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1},
      {{1, 3, 3}});
  EXPECT_EQ(pooling({nine}), Values({3, 4, 6, 7}));
}

TEST(ReferenceLrn, DividesAlphaByTheSizeOfTheWindow) {
  Forward lrn(Lrn{.size = 3, .alpha = 3, .beta = 1, .k = 2}, {{3, 1, 1}});
  const Values y = lrn({{1, 2, 3}});
  EXPECT_FLOAT_EQ(y[0], 1.0F / (2 + 1 + 4));
  EXPECT_FLOAT_EQ(y[1], 2.0F / (2 + 1 + 4 + 9));
  EXPECT_FLOAT_EQ(y[2], 3.0F / (2 + 4 + 9));
}

TEST(ReferenceBatchNorm, DividesByTheDeviationOfTheBatch) {
  Forward batch_norm(BatchNorm{.epsilon = 0.75}, {{1, 1, 2}}, 2);
  // Mean 2.5, mean square deviation 1.25, so the deviation with epsilon is sqrt(2).
  const Values y = batch_norm({{1, 2, 3, 4}}, {{2}, {10}});
  EXPECT_FLOAT_EQ(y[0], 10 - 3 / std::sqrt(2.0F));
  EXPECT_FLOAT_EQ(y[3], 10 + 3 / std::sqrt(2.0F));
}

TEST(ReferenceFullyConnected, MultipliesAllFeaturesByTheRowsOfItsMatrix) {
  Forward layer(FullyConnected{.outputs = 2}, {{1, 1, 3}}, 2);
  EXPECT_EQ(layer({{1, 2, 3, 4, 5, 6}}, {{1, 0, 0, 1, 1, 1}, {0, 100}}), Values({1, 106, 4, 115}));
}

TEST(ReferenceLoss, OfEqualScoresIsTheLogarithmOfTheClasses) {
  Forward loss(SoftmaxCrossEntropy{}, {{8, 1, 1}}, 2);
  for (const float y : loss({Values(16, 3.0F)}, {}, {0, 7})) EXPECT_FLOAT_EQ(y, std::log(8.0F));
}

TEST(ReferenceLoss, SurvivesLargeScores) {
  Forward loss(SoftmaxCrossEntropy{}, {{2, 1, 1}}, 2);
  const Values y = loss({{1000, 0, 1000, 0}}, {}, {0, 1});
  EXPECT_FLOAT_EQ(y[0], 0);
  EXPECT_FLOAT_EQ(y[1], 1000);
}

TEST(ReferenceConcat, PutsChannelsInTheOrderOfTheInputs) {
  Forward concat(Concat{}, {{1, 1, 1}, {2, 1, 1}}, 2);
  EXPECT_EQ(concat({{1, 2}, {10, 20, 30, 40}}), Values({1, 10, 20, 2, 30, 40}));
}

TEST(ReferenceSum, AddsElementByElement) {
  Forward sum(Sum{}, {{2, 1, 1}, {2, 1, 1}, {2, 1, 1}});
  EXPECT_EQ(sum({{1, 2}, {10, 20}, {100, 200}}), Values({111, 222}));
}

TEST(ReferenceRelu, CutsOffWhatIsNegative) {
  Forward relu(Relu{}, {{3, 1, 1}});
  EXPECT_EQ(relu({{-1, 0, 2}}), Values({0, 0, 2}));
}

constexpr int finite_halves = 0x7C00;  ///< codes below are finite and not negative, in order

TEST(Half, ReadsTheNumbersOfTheStandard) {
  EXPECT_EQ(from_half(0x3C00), 1.0F);
  EXPECT_EQ(from_half(0xC000), -2.0F);
  EXPECT_EQ(from_half(0x7BFF), 65504.0F);
  EXPECT_EQ(from_half(0x0400), 0x1p-14F);
  EXPECT_EQ(from_half(0x0001), 0x1p-24F);
  EXPECT_EQ(from_half(0x3555), 0.333251953125F);
  EXPECT_EQ(from_half(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_half(0x7E00)));
  EXPECT_TRUE(std::signbit(from_half(0x8000)));
}

TEST(Half, ComesBackFromEveryCode) {
  for (int code = 0; code < 0x10000; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    const float value = from_half(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_half(to_half(value)))) << code;
    } else {
      EXPECT_EQ(to_half(value), half);
    }
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (int code = 0; code + 1 < finite_halves; ++code) {
    const float low = from_half(static_cast<std::uint16_t>(code));
    const float high = from_half(static_cast<std::uint16_t>(code + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(to_half(middle), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(to_half(std::nextafter(middle, 0.0F)), code);
    EXPECT_EQ(to_half(std::nextafter(middle, high)), code + 1);
    EXPECT_EQ(to_half(-std::nextafter(middle, high)), (code + 1) | 0x8000);
  }
}

TEST(Half, BecomesInfiniteFromTheMiddleOfTheNextStep) {
  EXPECT_EQ(to_half(65519.996F), 0x7BFF);
  EXPECT_EQ(to_half(65520.0F), 0x7C00);
  EXPECT_EQ(to_half(-std::numeric_limits<float>::max()), 0xFC00);
}

TEST(Rounded, KeepsTenBitsOfMantissaInTf32) {
  EXPECT_EQ(rounded(DType::tf32, 1.0F + 0x1p-10F), 1.0F + 0x1p-10F);
  EXPECT_EQ(rounded(DType::tf32, 1.0F + 0x1p-11F), 1.0F);
  EXPECT_EQ(rounded(DType::tf32, 1.0F + 0x1.8p-10F), 1.0F + 0x1p-9F);
  EXPECT_EQ(rounded(DType::tf32, -3e38F), -rounded(DType::tf32, 3e38F));
  EXPECT_EQ(rounded(DType::tf32, 0.0F), 0.0F);
}

TEST(Rounded, LeavesF32AsItIsAndKnowsBf16) {
  EXPECT_EQ(rounded(DType::f32, 0.1F), 0.1F);
  EXPECT_EQ(rounded(DType::bf16, 1.0F + 0x1p-7F), 1.0F + 0x1p-7F);
  EXPECT_EQ(rounded(DType::bf16, 1.0F + 0x1p-8F), 1.0F);
  EXPECT_EQ(rounded(DType::f16, 0.1F), from_half(to_half(0.1F)));
}

}  // namespace
}  // namespace dlscale::backend
