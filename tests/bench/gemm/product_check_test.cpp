#include "bench/gemm/product_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bench/workbench/workbench.hpp"

/// A check that cannot fail proves nothing: here it meets answers that are wrong.
namespace dlscale::bench {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A product with the right answer, to be spoilt.
class Answer {
 public:
  explicit Answer(const GemmShape& shape) : shape_(shape) {
    values_.fill(a_, 1);
    values_.fill(b_, 1);
    const auto product = reference_->matrix_product(shape, DType::f32);
    product->run(reinterpret_cast<const std::byte*>(a_.data()),
                 reinterpret_cast<const std::byte*>(b_.data()),
                 reinterpret_cast<std::byte*>(c_.data()), nullptr);
  }
  float& at(std::int64_t row, std::int64_t column, std::int64_t which = 0) {
    return c_[(which * shape_.m + row) * shape_.n + column];
  }
  [[nodiscard]] double error() const { return product_error(*reference_, plain()).largest; }
  /// As of a product so large that only three rows and columns are compared.
  [[nodiscard]] double sampled_error() const {
    return product_error(*reference_, plain(), 1).largest;
  }

 private:
  [[nodiscard]] PlainProduct plain() const { return {shape_, a_, b_, c_}; }

  GemmShape shape_;
  OperandValues values_;
  std::unique_ptr<backend::ComputeDevice> reference_ = open_device("reference", 1);
  std::vector<float> a_ = std::vector<float>(static_cast<std::size_t>(shape_.a_elements()));
  std::vector<float> b_ = std::vector<float>(static_cast<std::size_t>(shape_.b_elements()));
  std::vector<float> c_ = std::vector<float>(static_cast<std::size_t>(shape_.c_elements()));
};

TEST(ProductError, IsNothingForTheRightAnswer) {
  for (const char* text :
       {"1x1x1", "9x11x7", "9x11x7:nt", "9x11x7:tn", "9x11x7:tt:b5", "1x40x3", "40x1x3:tt"}) {
    const Answer answer(parse_gemm_shape(text, "a test"));
    EXPECT_EQ(answer.error(), 0) << text;
    EXPECT_LT(answer.sampled_error(), 1e-6) << text;
  }
}

TEST(ProductError, FindsAnyElementOfASmallProduct) {
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t j = 0; j < 11; ++j) {
      Answer answer({9, 11, 7});
      answer.at(i, j) += 1;
      EXPECT_GT(answer.error(), 0.05) << i << ", " << j;
    }
  }
}

TEST(ProductError, IsInfiniteWhereTheAnswerIsNoNumber) {
  for (const float bad : {infinity, -infinity, std::nanf("")}) {
    Answer answer({9, 11, 7, true, false});
    answer.at(4, 5) = bad;
    EXPECT_EQ(answer.error(), infinity);
    EXPECT_EQ(answer.sampled_error(), infinity);
  }
}

TEST(ProductError, FindsAnyWrongRowAndColumnOfALargeProduct) {
  for (const char* text : {"20x30x7", "20x30x7:nt", "20x30x7:tn", "20x30x7:tt"}) {
    const GemmShape shape = parse_gemm_shape(text, "a test");
    for (std::int64_t i = 0; i < shape.m; ++i) {
      Answer answer(shape);
      for (std::int64_t j = 0; j < shape.n; ++j) answer.at(i, j) += 1;
      EXPECT_GT(answer.sampled_error(), 0.05) << text << " row " << i;
    }
    for (std::int64_t j = 0; j < shape.n; ++j) {
      Answer answer(shape);
      for (std::int64_t i = 0; i < shape.m; ++i) answer.at(i, j) += 1;
      EXPECT_GT(answer.sampled_error(), 0.05) << text << " column " << j;
    }
  }
}

TEST(ProductError, LooksAtTheFirstTheLastAndOneProductBetweenOfABatch) {
  for (const std::int64_t which : {0, 4, 8}) {
    Answer answer({3, 4, 5, false, true, 9});
    answer.at(2, 3, which) += 1;
    EXPECT_GT(answer.error(), 0.05) << which;
  }
}

}  // namespace
}  // namespace dlscale::bench
