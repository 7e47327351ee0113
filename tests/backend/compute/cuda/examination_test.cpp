#include "backend/compute/cuda/cudnn/examination.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "backend/compute/cuda/runtime/noise.hpp"

/// How the answers of two ways are held against each other, without a device to run them on.
namespace dlscale::backend::cuda {
namespace {

const Ways two_ways{
    .runs = {},
    .names = {"eng1", "own"},
    .written = {{"output", nullptr, 4, DType::f32}, {"sums", nullptr, 2, DType::f32}},
    .dtype = DType::f32,
    .plain = 1};

std::string objection_to(const std::vector<float>& output, const std::vector<float>& sums) {
  return objection(two_ways, {output, sums}, {{1, -2, 3, -4}, {5, 6}}, 1);
}

TEST(Objection, IsNoneToAnswersThatRoundingTellsApart) {
  EXPECT_EQ(objection_to({1, -2, 3, -4}, {5, 6}), "");
  EXPECT_EQ(objection_to({1, -2.0001F, 3, -4}, {5, 6.001F}), "");
}

TEST(Objection, SaysWhatDiffersFromWhom) {
  EXPECT_EQ(objection_to({1, -2, 3, 4}, {5, 6}), "its output differs by 2 from that of own");
  EXPECT_EQ(objection_to({1, -2, 3, -4}, {6, 5}), "its sums differs by 0.18 from that of own");
}

TEST(Objection, IsMadeToWhatIsNotANumberAndToWhatWasNotWritten) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(objection_to({1, none, 3, -4}, {5, 6}), "");
  EXPECT_NE(objection_to({0, 0, 0, 0}, {5, 6}), "");
  EXPECT_NE(objection_to({1, -2, 3, -4}, {5, 0}), "");
}

TEST(Objection, AllowsWhatEachOfTwoRightWaysMayBeOffBy) {
  EXPECT_LT(allowed_difference(DType::f32), allowed_difference(DType::tf32));
  EXPECT_LT(allowed_difference(DType::f16), allowed_difference(DType::bf16));
  EXPECT_LE(allowed_difference(DType::bf16), 0.1) << "a wrong answer is off by more";
}

TEST(Noise, IsOfDifferentNumbersWithoutAnyThatIsNone) {
  const std::vector<std::byte> bytes = noise(DType::f32, 1);
  ASSERT_EQ(bytes.size(), noise_period * sizeof(float));
  std::set<float> met;
  double sum = 0;
  for (std::size_t i = 0; i < noise_period; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    ASSERT_GE(value, -0.5F);
    ASSERT_LE(value, 0.5F);
    met.insert(value);
    sum += double{value};
  }
  EXPECT_GT(met.size(), noise_period * 9 / 10);
  EXPECT_NEAR(sum / noise_period, 0, 0.01);
  EXPECT_NE(noise(DType::f32, 2), bytes);
}

TEST(Noise, IsRoundedToThePrecision) {
  EXPECT_EQ(noise(DType::bf16, 1).size(), noise_period * 2);
  EXPECT_NE(noise(DType::bf16, 1), noise(DType::f16, 1));
  EXPECT_NE(noise(DType::tf32, 1), noise(DType::f32, 1));
}

/// Rows, images and planes are no multiples of it.
TEST(Noise, ComesAgainAfterAPrimeNumberOfElements) {
  for (std::size_t i = 2; i * i <= noise_period; ++i) ASSERT_NE(noise_period % i, 0U) << i;
}

TEST(Stretches, AreAllOfASmallTensor) {
  for (const std::size_t elements : {1U, 1000U, 65536U}) {
    const auto all = sampled_stretches(elements);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].first, 0U);
    EXPECT_EQ(all[0].count, elements);
  }
}

TEST(Stretches, GoFromTheFirstElementToTheLastWithoutMeeting) {
  for (const std::size_t elements : {65537UL, 100000UL, 822083584UL}) {
    const auto all = sampled_stretches(elements);
    EXPECT_EQ(all.front().first, 0U);
    EXPECT_EQ(all.back().first + all.back().count, elements);
    for (std::size_t i = 1; i < all.size(); ++i) {
      EXPECT_GE(all[i].first, all[i - 1].first + all[i - 1].count) << elements;
    }
  }
}

}  // namespace
}  // namespace dlscale::backend::cuda
