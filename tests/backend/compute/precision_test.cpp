#include "backend/compute/precision.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dlscale::backend {
namespace {

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
